"""`reproduce` killed, on a full or read-only disk, twice at once, and with a wrong clock."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from itertools import count as numbers
from pathlib import Path

from full_disk import full_disk

from chaos.home import Home, end, one_line, without_progress

Outcome = tuple[bool, str]


def _reference(folder: Path, repeats: int = 6) -> tuple[list[str], float]:
    """Return the tables of an undisturbed `reproduce`, and the seconds it took."""
    home, start = Home(folder, repeats), time.monotonic()
    code, _, err = home.call()
    assert code == 0, err
    return home.tables(), time.monotonic() - start


def kills(folder: Path, times: int = 100) -> Outcome:
    """kill -9 of `reproduce` at random moments; every other time only its main process"""
    expected, seconds = _reference(folder / "whole")
    rng = random.Random(0)
    lost = repeated = identical = whole = left = 0
    slowest, killed = 0.0, 0
    while killed < times:
        home, saved = Home(folder / "killed"), {}
        for _ in numbers():
            process = home.start(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                code = process.wait(rng.uniform(0, 1.1 * seconds) if killed < times else None)
            except subprocess.TimeoutExpired:
                killed, code = killed + 1, None
                if killed % 2:
                    process.kill()  # its runs must end by themselves
                    process.wait()
                    slowest = max(slowest, _gone(process.pid))
                end(process)
            now = home.records()
            lost += len(saved.keys() - now.keys())
            repeated += sum(now[key] != text for key, text in saved.items() if key in now)
            saved |= now
            if code is not None:
                break
        whole += 1
        identical += code == 0 and home.tables() == expected
        left += len(home.temporary_files())
    summary = (
        f"{killed} kills over {whole} experiments: {lost} finished runs lost, {repeated} repeated, "
        f"final tables identical {identical} of {whole}, temporary files left {left}, "
        f"orphaned runs ended within {slowest:.1f} s"
    )
    return (lost, repeated, left) == (0, 0, 0) and identical == whole and slowest < 10, summary


def _gone(group: int) -> float:
    """Return the seconds until all processes of a group have ended."""
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
    identical = left = kills_done = 0
    for number in numbers(1):
        home = Home(folder / "killed", repeats=2)
        code, *_ = home.call(kill=number)
        if code == 0:
            break
        kills_done += code == -signal.SIGKILL
        code, *_ = home.call()
        identical += code == 0 and home.tables() == expected
        left += len(home.temporary_files())
    writes = number - 1
    summary = f"{kills_done} kills in {writes} writes: tables identical {identical}, "
    summary += f"temporary files left {left}"
    return kills_done == identical == writes > 5 and left == 0, summary


def disk_full(folder: Path, times: int = 0) -> Outcome:
    """size of files limited (RLIMIT_FSIZE), then not"""
    expected, _ = _reference(folder / "whole")
    sizes = (30_000, 100, 500, 1500, 3000, 6000)
    clean = identical = stopped = 0
    for size in sizes:
        home = Home(folder / "full")
        if size < sizes[0]:  # so the built task, the largest file, need not be written
            shutil.copytree(folder / "whole" / "data", home.data)
        with full_disk(size):
            code, _, err = home.call()
        stopped += code != 0
        clean += (code == 0 or one_line(code, err)) and not home.temporary_files()
        code, *_ = home.call()
        identical += code == 0 and home.tables() == expected
    summary = f"{len(sizes)} limits, {stopped} stopped it: one line {clean}, "
    summary += f"then identical {identical}"
    return clean == identical == len(sizes) and stopped > 1, summary


def _as_root(home: Home, script: str) -> subprocess.CompletedProcess:
    """Run a shell script that may mount file systems, in a namespace of its own."""
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", script],
        env=home.environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip


def small_disk(folder: Path, times: int = 0) -> Outcome:
    """results on a file system that fills up, then grows"""
    expected, _ = _reference(folder / "whole")
    sizes = (4, 16, 32, 48)
    clean = identical = 0
    for size in sizes:
        home = Home(folder / "small")
        home.results.mkdir()
        command = " ".join(f"'{word}'" for word in home.command())
        script = (
            f"mount -t tmpfs -o size={size}k tmpfs {home.results} || exit 99; "
            f"{command}; echo code $? >&2; mount -o remount,size=64m {home.results}; "
            f"find {home.results} -name '.*[!k]' -type f >&2; echo then >&2; "
            f"{command} || exit 1; cp -r {home.results}/broken {home.folder}/copy"
        )
        done = _as_root(home, script)
        if done.returncode == 99:
            return True, f"not possible here: {done.stderr.strip()}"
        first = without_progress(done.stderr.partition("then\n")[0]).splitlines()
        clean += len(first) == 2 and first[1] == "code 2" and "No space left" in first[0]
        if done.returncode == 0:
            home.results.rmdir()
            shutil.copytree(home.folder / "copy", home.results / "broken")
            identical += home.tables() == expected
    summary = f"{len(sizes)} sizes: one line and nothing left {clean}, then identical {identical}"
    return clean == identical == len(sizes), summary


def full_output(folder: Path, times: int = 0) -> Outcome:
    """output goes to a full disk (/dev/full)"""
    home = Home(folder)
    with Path("/dev/full").open("w") as full:
        code, _, err = home.call(stdout=full)
    code_after, *_ = home.call()
    runs = sum(home.writes().values())
    summary = (
        f"code {code}, {err.count(chr(10))} line; then {runs} runs in all for {len(home.writes())}"
    )
    return one_line(code, err) and code_after == 0 and runs == len(home.writes()), summary


def read_only(folder: Path, times: int = 0) -> Outcome:
    """results mounted read-only, before and after there are runs"""
    home = Home(folder)
    home.results.mkdir()
    command = " ".join(f"'{word}'" for word in home.command())
    script = f"mount --bind {home.results} {home.results} && "
    script += f"mount -o remount,bind,ro {home.results} || exit 99; exec {command}"
    refusals = []
    for _ in range(2):
        done = _as_root(home, script)
        if done.returncode == 99:
            return True, f"not possible here: {done.stderr.strip()}"
        refusals.append(one_line(done.returncode, done.stderr))
        before = sum(home.writes().values())
        code, *_ = home.call()
    after = sum(home.writes().values())
    return all(
        refusals
    ) and code == 0 and before == after, f"one line {sum(refusals)} of 2, nothing lost"


def two_at_once(folder: Path, times: int = 5) -> Outcome:
    """two `reproduce` of the same experiment at the same time"""
    expected, _ = _reference(folder / "whole")
    succeeded = twice = identical = 0
    for _ in range(times):
        home = Home(folder / "twice")
        both = [home.start(), home.start()]
        for process in both:
            process.communicate(timeout=240)
            succeeded += process.returncode == 0
        twice += sum(home.writes().values()) - len(home.writes())
        identical += home.tables() == expected
    summary = f"{times} times: code 0 {succeeded} of {2 * times}, tables identical {identical}, "
    summary += f"runs done twice {twice}"
    return succeeded == 2 * times and identical == times and twice == 0, summary


def clock(folder: Path, times: int = 0) -> Outcome:
    """clock set back ten years, to 1970 and to before 1970, and ahead, between kills"""
    expected, seconds = _reference(folder / "whole")
    year = 365.25 * 86400
    saved: dict[str, str] = {}
    home, codes, lost = Home(folder / "back"), [], 0
    for shift in (0, -10 * year, -time.time(), -time.time() - 5 * year, 50 * year, -10 * year):
        process = home.start(clock=shift)
        try:
            err = process.communicate(timeout=seconds * 0.8)[1]
            codes.append((process.returncode, err))
        except subprocess.TimeoutExpired:
            end(process)
        now = home.records()
        lost += sum(now.get(key) != text for key, text in saved.items())
        saved |= now
    for shift in (-time.time(), -time.time() - 5 * year):  # without kills
        other = Home(folder / "whole-run")
        codes.append(other.call(clock=shift)[::2])
        identical_then = codes[-1][0] == 0 and other.tables() == expected
    code, _, err = home.call()
    identical = code == 0 and home.tables() == expected and identical_then
    bad = [err for code, err in codes if code]
    summary = f"{len(saved)} runs under six clocks: {lost} lost or repeated, "
    summary += f"tables identical {identical}"
    return identical and not lost and not bad, " ".join([summary, *bad[:1]]).strip()
