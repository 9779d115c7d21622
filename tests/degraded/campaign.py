#!/usr/bin/env python3
"""campaign.py SBTRACE [--seed N] [--count N] [--recordings NAME,... | --record] [--seconds N] [--keep DIR]

Recordings with known truth are made worse at random: several kinds of records are lost at once, and the trace tells
less time (degrade.py). What `sbtrace replay` makes of them must be right, or a gap: each mix is scored (score.c), and
each stretch between two gaps must be in the truth as it is (stretches.c). Those where something is given to another
process or thread, or made up, are told, with what makes them again.

  --seed N           of the first mix (1); each further one has the next number, and depends on nothing else
  --count N          so many mixes (100)
  --recordings LIST  of which (user-true,user-pipe,user-threads,user-medium,user-threads-overflow)
  --record           of programs that are recorded on the spot (recordings.py), one for eight mixes; the first of these
                     takes nothing out, and has to be the same with one thread and with three
  --workloads DIR    the programs of tests/workloads, to be recorded as well
  --programs LIST    only these are recorded
  --seconds N        no new mix is begun after so many seconds
  --mix WORDS        this mix alone, as it is told: "user-pipe burst=10,200 seed=677239"
  --keep DIR         flows and details of what is wrong stay there; and what was recorded, which is never the same
                     again: with CORPUS_DIR=DIR, --mix finds it there

Exit status: 0; 1 when something was wrong; 77 without ../shared/corpus (or $CORPUS_DIR).
"""
import argparse
import filecmp
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from recordings import Recorder

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get('CORPUS_DIR', os.path.join(HERE, '../../../shared/corpus'))
USER = 'user-true,user-pipe,user-threads,user-medium,user-threads-overflow'
RATES = ('0.01', '0.02', '0.05', '0.1', '0.3', '1')
# Not TSC while MTC stays: no processor makes such a trace (MTCs go on while tracing is off, and a TMA follows a TSC).
EACH = 8  # mixes of what is recorded on the spot
STRIPS = ('mtc,cyc', 'mtc,cyc,tsc', 'cyc')


# ---- What is taken out ---------------------------------------------------------------------------

def bursts(chance):
    return f'{chance.choice((1, 2, 5, 10, 20))},{chance.choice((1, 2, 5, 10, 20, 40, 100, 200))}'


def mix_of(seed, names):
    """The recording's name and degrade.py's options of one mix."""
    chance = random.Random(seed)
    name = chance.choice(names)
    kinds = chance.sample(('switch', 'mmap', 'comm', 'fork', 'exit'), chance.choice((0, 1, 1, 2, 2, 3, 5)))
    options = [f'{kind}={chance.choice(RATES)}' for kind in kinds]
    if chance.random() < 0.4:
        options.append(f'burst={bursts(chance)}')
    if chance.random() < 0.1:
        options.append(f'cpu={chance.randrange(3)}')
    how = chance.random()
    if how < 0.35:
        options.append(f'strip={chance.choice(STRIPS)}')
    elif how < 0.7 and name.startswith('user'):
        options.append(f'time={chance.choice((3, 5, 7, 9, 11))}')
    if chance.random() < 0.15:
        options.append(f'{chance.choice(("overflow", "truncated"))}={chance.choice((2048, 8192, 65536))}')
    return name, options + [f'seed={seed}']


# ---- Making it, and scoring ----------------------------------------------------------------------

class Campaign:
    """Truths, and where recordings and flows are for a while."""

    def __init__(self, sbtrace, work, keep, recorder=None):
        self.sbtrace, self.work, self.keep, self.recorder = sbtrace, work, keep, recorder
        self.truths = {}
        self.recorded = None  # the name of what was recorded last
        self.is_recorded = False
        self.scorer, self.stretches = (self.build(name) for name in ('score', 'stretches'))

    def build(self, name):
        path = os.path.join(self.work, name)
        subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-o', path, os.path.join(HERE, f'{name}.c')], check=True)
        return path

    def folder(self, name):
        return os.path.join(self.work if name == self.recorded else CORPUS, name)

    def record(self, seed):
        """The name of the recording that the mix @seed is of, which is made unless it is there; None: there is none."""
        name = f'user-recorded-{seed // EACH}'
        if name != self.recorded:
            if self.recorded:
                shutil.rmtree(self.folder(self.recorded))
            self.recorded = name
            how = self.recorder.record(seed // EACH, self.folder(name))
            self.is_recorded = how is not None
            print(f'{name}: {how or "was not recorded"}', flush=True)
        return name if self.is_recorded else None

    def truth(self, name):
        folder = self.folder(name)
        plain = os.path.join(folder, 'truth')
        if os.path.exists(plain):
            return plain
        if name not in self.truths:
            path = os.path.join(self.work, f'{name}.truth')
            files = sorted(os.path.join(folder, file) for file in os.listdir(folder)
                           if re.fullmatch(r'truth\.cpu\d+\.tsv\.zst', file))
            with open(path, 'wb') as out:
                subprocess.run(['zstd', '-dcq', *files], stdout=out, check=True)
            self.truths[name] = path
        return self.truths[name]

    def degrade(self, name, options):
        """The path of the recording that is worse."""
        source = os.path.join(self.folder(name), 'perf.data')
        path = os.path.join(self.work, 'perf.data')
        if os.path.isfile(path):
            os.remove(path)
        shutil.rmtree(path, ignore_errors=True)
        if os.path.isdir(source):
            os.mkdir(path)
            for entry in os.listdir(source):
                if entry != 'data':
                    os.symlink(os.path.realpath(os.path.join(source, entry)), os.path.join(path, entry))
            pair = os.path.join(source, 'data'), os.path.join(path, 'data')
        else:
            pair = source, path
        done = subprocess.run([sys.executable, os.path.join(HERE, 'degrade.py'), *pair, *options], check=False,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f'degrade.py {name} {" ".join(options)}: {done.stderr.strip()}')
        return path

    def replay(self, name, recording, flow, *options):
        """How it failed, or None. @options: those of sbtrace replay."""
        return self.replay_into(f'insn={flow}', flow, name, recording, *options)

    def replay_into(self, sink, flow, name, recording, *options):
        with open(flow, 'w', encoding='ascii'):
            pass  # not what another one left
        root = os.path.join(self.folder(name), 'root')
        done = subprocess.run([self.sbtrace, 'replay', '--root', root, '--no-host-root', '--sink', sink, *options,
                               recording], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        return None if done.returncode in (0, 3) else f'status {done.returncode}: {done.stderr.strip()[:200]}'

    def score(self, name, options):
        """What score.c says, as numbers by name; and how the replay failed, or None."""
        recording = self.degrade(name, options)
        flow, details = os.path.join(self.work, 'flow'), os.path.join(self.work, 'details')
        failed = self.replay(name, recording, flow)
        said = subprocess.run([self.scorer, self.truth(name), flow, details], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        scored = {key: float(value) for key, value in re.findall(r'([a-z-]+) ([\d.]+)', said.split(' of ')[0])}
        failed = failed or self.check_stretches(name, recording)
        if name == self.recorded and len(options) == 1:
            failed = failed or self.check_whole(name, recording, flow)
        return scored, failed

    def check_stretches(self, name, recording):
        """What is between two gaps and did not run so, or None; the whole list stays in the file "stretches.txt"."""
        flow = os.path.join(self.work, 'flow.jsonl')
        failed = self.replay_into(f'jsonl={flow}', flow, name, recording, '--with', 'flow=block')
        if failed:
            return failed
        done = subprocess.run([self.stretches, self.truth(name), flow], stdout=subprocess.PIPE, text=True, check=False)
        with open(os.path.join(self.work, 'stretches.txt'), 'w', encoding='ascii') as file:
            file.write(done.stdout)
        return done.stdout.splitlines()[-1] if done.returncode else None

    def check_whole(self, name, recording, flow):
        """Of one that nothing was taken out of: how the number of threads makes a difference, or None."""
        for jobs in '1', '3':
            other = os.path.join(self.work, 'flow.jobs')
            failed = self.replay(name, recording, other, '-j', jobs)
            if failed:
                return failed
            if not filecmp.cmp(flow, other, shallow=False):
                return f'-j {jobs} tells something else'
        return None

    def keep_it(self, name, seed):
        if not self.keep:
            return
        os.makedirs(self.keep, exist_ok=True)
        for file in ('flow', 'details', 'stretches.txt'):
            shutil.copy(os.path.join(self.work, file), os.path.join(self.keep, f'{name}-{seed}.{file}'))
        if name == self.recorded:
            shutil.copytree(self.folder(name), os.path.join(self.keep, name), symlinks=True, dirs_exist_ok=True)


def check(campaign, name, options):
    """Whether one mix is right; tells what it comes to."""
    scored, failed = campaign.score(name, options)
    is_wrong = failed or scored['other'] > 0 or scored['made-up'] > 0
    print('WRONG' if is_wrong else 'right', name, *options, *(f'{key} {value}' for key, value in scored.items()),
          failed or '', flush=True)
    if is_wrong:
        campaign.keep_it(name, options[-1])
    return not is_wrong


def mixes_of(options, campaign):
    """Each a name and degrade.py's options."""
    if options.mix:
        words = options.mix.split()
        yield words[0], words[1:]
        return
    for seed in range(options.seed, options.seed + options.count):
        if not options.record:
            yield mix_of(seed, options.recordings.split(','))
            continue
        name = campaign.record(seed)
        if name and seed % EACH:
            yield mix_of(seed, [name])
        elif name:
            yield name, [f'seed={seed}']


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument('sbtrace')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--recordings', default=USER)
    parser.add_argument('--record', action='store_true')
    parser.add_argument('--workloads')
    parser.add_argument('--programs')
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--mix')
    parser.add_argument('--keep')
    return parser.parse_args()


def main():
    options = parse()
    recorder = None
    if options.record:
        recorder = Recorder(options.sbtrace, options.workloads, options.programs and options.programs.split(','))
        if not recorder.commands:
            sys.exit('campaign.py: none of the programs to record is there')
    elif not os.path.isdir(CORPUS):
        print(f'skipped: no recordings with known truth in {CORPUS}')
        sys.exit(77)
    end = time.monotonic() + options.seconds
    ntried = nwrong = 0
    with tempfile.TemporaryDirectory() as work:
        campaign = Campaign(options.sbtrace, work, options.keep, recorder)
        for name, what in mixes_of(options, campaign):
            if time.monotonic() >= end:
                break
            ntried += 1
            nwrong += not check(campaign, name, what)
    print(f'{ntried} mixes, {nwrong} wrong')
    sys.exit(1 if nwrong else 0)


main()
