"""`reproduce` killed, out of space, forbidden to write, twice at once, and with a wrong clock."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from functools import partial
from itertools import count as numbers
from pathlib import Path

from chaos.home import Home, end, one_line

Outcome = tuple[bool, str]


def _reference(folder: Path, repeats: int = 6) -> tuple[list[str], float]:
    """The tables of an undisturbed `reproduce`, and the seconds it took."""
    home, start = Home(folder, repeats), time.monotonic()
    code, _, err = home.call()
    assert code == 0, err
    return home.tables(), time.monotonic() - start


def kills(folder: Path, times: int = 100) -> Outcome:
    """kill -9 of `reproduce` at random moments; every other time its runs are left to themselves"""
    expected, seconds = _reference(folder / "whole")
    rng = random.Random(0)
    lost = again = same = whole = left = 0
    slowest, killed = 0.0, 0
    while killed < times:
        home, kept = Home(folder / "killed"), {}
        for _ in numbers():
            process = home.start(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                code = process.wait(rng.uniform(0, 1.1 * seconds) if killed < times else None)
            except subprocess.TimeoutExpired:
                killed, code = killed + 1, None
                if killed % 2:
                    process.kill()  # alone: its runs must end by themselves
                    process.wait()
                    slowest = max(slowest, _gone(process.pid))
                end(process)
            now = home.records()
            lost += len(kept.keys() - now.keys())
            again += sum(now[key] != text for key, text in kept.items() if key in now)
            kept |= now
            if code is not None:
                break
        whole += 1
        same += code == 0 and home.tables() == expected
        left += len(home.left())
    said = (
        f"{killed} kills over {whole} experiments: {lost} finished runs lost, {again} repeated, "
        f"final tables identical {same} of {whole}, temporary files left {left}, "
        f"orphaned runs ended within {slowest:.1f} s"
    )
    return (lost, again, left) == (0, 0, 0) and same == whole and slowest < 10, said


def _gone(group: int) -> float:
    """Seconds until nothing is left of a group of processes."""
    start = time.monotonic()
    while time.monotonic() - start < 10:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    return time.monotonic() - start


def kills_in_writes(folder: Path, times: int = 0) -> Outcome:
    """kill -9 in every single write of a `reproduce`, before the file gets its name"""
    expected, _ = _reference(folder / "whole", repeats=2)
    same = left = torn = 0
    for number in numbers(1):
        home = Home(folder / "killed", repeats=2)
        code, *_ = home.call(kill=number)
        if code == 0:
            break
        torn += code == -signal.SIGKILL
        code, *_ = home.call()
        same += code == 0 and home.tables() == expected
        left += len(home.left())
    writes = number - 1
    said = f"{torn} kills in {writes} writes: tables identical {same}, temporary files left {left}"
    return torn == same == writes > 5 and left == 0, said


def disk_full(folder: Path, times: int = 0) -> Outcome:
    """no file may be larger than so many bytes (RLIMIT_FSIZE), then it may"""
    expected, _ = _reference(folder / "whole")
    sizes = (30_000, 100, 500, 1500, 3000, 6000)
    clean = same = stopped = 0
    for size in sizes:
        home = Home(folder / "full")
        if size < sizes[0]:  # so that there is no need to write the built task, the largest file
            shutil.copytree(folder / "whole" / "data", home.data)
        limits = size, resource.RLIM_INFINITY
        code, _, err = home.call(
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, limits)
        )
        stopped += code != 0
        clean += (code == 0 or one_line(code, err)) and not home.left()
        code, *_ = home.call()
        same += code == 0 and home.tables() == expected
    said = f"{len(sizes)} limits, {stopped} stopped it: one line {clean}, then identical {same}"
    return clean == same == len(sizes) and stopped > 1, said


def small_disk(folder: Path, times: int = 0) -> Outcome:
    """results on a file system of so many KiB that fills up, then grows"""
    expected, _ = _reference(folder / "whole")
    sizes = (4, 16, 32, 48)
    clean = same = 0
    for size in sizes:
        home = Home(folder / "small")
        home.results.mkdir()
        go = " ".join(f"'{word}'" for word in home.command())
        script = (
            f"mount -t tmpfs -o size={size}k tmpfs {home.results} || exit 99; "
            f"{go}; echo code $? >&2; mount -o remount,size=64m {home.results}; "
            f"find {home.results} -name '.*[!k]' -type f >&2; echo then >&2; "
            f"{go} || exit 1; cp -r {home.results}/broken {home.folder}/copy"
        )
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script],
            env=home.environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 99:
            return True, f"not possible here: {done.stderr.strip()}"
        first = done.stderr.partition("then\n")[0].splitlines()
        clean += len(first) == 2 and first[1] == "code 2" and "No space left" in first[0]
        if done.returncode == 0:
            home.results.rmdir()
            shutil.copytree(home.folder / "copy", home.results / "broken")
            same += home.tables() == expected
    said = f"{len(sizes)} sizes: one line and nothing left {clean}, then identical {same}"
    return clean == same == len(sizes), said


def full_output(folder: Path, times: int = 0) -> Outcome:
    """what it prints goes to a full disk (/dev/full)"""
    home = Home(folder)
    with Path("/dev/full").open("w") as full:
        code, _, err = home.call(stdout=full)
    again = home.call()
    runs = sum(home.runs().values())
    said = f"code {code}, {err.count(chr(10))} line; then {runs} runs in all for {len(home.runs())}"
    return one_line(code, err) and again[0] == 0 and runs == len(home.runs()), said


def read_only(folder: Path, times: int = 0) -> Outcome:
    """results that may not be written (mounted read-only), before and after runs are there"""
    home = Home(folder)
    home.results.mkdir()
    go = " ".join(f"'{word}'" for word in home.command())
    script = f"mount --bind {home.results} {home.results} && "
    script += f"mount -o remount,bind,ro {home.results} || exit 99; exec {go}"
    said = []
    for _ in range(2):
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script],
            env=home.environment(), capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode == 99:
            return True, f"not possible here: {done.stderr.strip()}"
        said.append(one_line(done.returncode, done.stderr))
        before = sum(home.runs().values())
        code, *_ = home.call()
    after = sum(home.runs().values())
    return all(said) and code == 0 and before == after, f"one line {sum(said)} of 2, nothing lost"


def two_at_once(folder: Path, times: int = 5) -> Outcome:
    """two `reproduce` of the same experiment at the same time"""
    expected, _ = _reference(folder / "whole")
    well = twice = same = 0
    for _ in range(times):
        home = Home(folder / "twice")
        both = [home.start(), home.start()]
        for process in both:
            process.communicate(timeout=240)
            well += process.returncode == 0
        twice += sum(home.runs().values()) - len(home.runs())
        same += home.tables() == expected
    said = f"{times} times: code 0 {well} of {2 * times}, tables identical {same}, runs done twice "
    return well == 2 * times and same == times and twice == 0, said + str(twice)


def clock(folder: Path, times: int = 0) -> Outcome:
    """the clock set back ten years, to 1970 and to before 1970, and ahead, between kills"""
    expected, seconds = _reference(folder / "whole")
    year = 365.25 * 86400
    kept: dict[str, str] = {}
    home, codes, lost = Home(folder / "back"), [], 0
    for shift in (0, -10 * year, -time.time(), -time.time() - 5 * year, 50 * year, -10 * year):
        process = home.start(clock=shift)
        try:
            err = process.communicate(timeout=seconds * 0.8)[1]
            codes.append((process.returncode, err))
        except subprocess.TimeoutExpired:
            end(process)
        now = home.records()
        lost += sum(now.get(key) != text for key, text in kept.items())
        kept |= now
    for shift in (-time.time(), -time.time() - 5 * year):  # all of it then
        other = Home(folder / "then")
        codes.append(other.call(clock=shift)[::2])
        same_then = codes[-1][0] == 0 and other.tables() == expected
    code, _, err = home.call()
    same = code == 0 and home.tables() == expected and same_then
    bad = [err for code, err in codes if code]
    said = f"{len(kept)} runs under six clocks: {lost} lost or repeated, tables identical {same}"
    return same and not lost and not bad, " ".join([said, *bad[:1]]).strip()
