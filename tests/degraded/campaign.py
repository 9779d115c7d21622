#!/usr/bin/env python3
"""campaign.py SBTRACE [--seed N] [--count N] [--recordings NAME,...] [--seconds N] [--keep DIR]

Recordings with known truth are made worse at random: several kinds of records are lost at once, and the trace tells
less time (degrade.py). What `sbtrace replay` makes of them must be right, or a gap: each mix is scored (score.c), and
those where something is given to another process or thread, or made up, are told, with what makes them again.

  --seed N           of the first mix (1); each further one has the next number, and depends on nothing else
  --count N          so many mixes (100)
  --recordings LIST  of which (user-true,user-pipe,user-threads,user-medium,user-threads-overflow)
  --seconds N        no new mix is begun after so many seconds
  --mix WORDS        this mix alone, as it is told: "user-pipe burst=10,200 seed=677239"
  --keep DIR         flows and details of what is wrong stay there

Exit status: 0; 1 when something was wrong; 77 without ../shared/corpus (or $CORPUS_DIR).
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = os.environ.get('CORPUS_DIR', os.path.join(HERE, '../../../shared/corpus'))
USER = 'user-true,user-pipe,user-threads,user-medium,user-threads-overflow'
RATES = ('0.01', '0.02', '0.05', '0.1', '0.3', '1')
# Not TSC while MTC stays: no processor makes such a trace (MTCs go on while tracing is off, and a TMA follows a TSC).
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

    def __init__(self, sbtrace, work, keep):
        self.sbtrace, self.work, self.keep = sbtrace, work, keep
        self.truths = {}
        self.scorer = os.path.join(work, 'score')
        subprocess.run([os.environ.get('CC', 'cc'), '-O2', '-o', self.scorer, os.path.join(HERE, 'score.c')], check=True)

    def truth(self, name):
        if name not in self.truths:
            path = os.path.join(self.work, f'{name}.truth')
            folder = os.path.join(CORPUS, name)
            files = sorted(os.path.join(folder, file) for file in os.listdir(folder)
                           if re.fullmatch(r'truth\.cpu\d+\.tsv\.zst', file))
            with open(path, 'wb') as out:
                subprocess.run(['zstd', '-dcq', *files], stdout=out, check=True)
            self.truths[name] = path
        return self.truths[name]

    def degrade(self, name, options):
        """The path of the recording that is worse."""
        source = os.path.join(CORPUS, name, 'perf.data')
        path = os.path.join(self.work, 'perf.data')
        shutil.rmtree(path, ignore_errors=True)
        if os.path.isdir(source):
            os.mkdir(path)
            for entry in os.listdir(source):
                if entry != 'data':
                    os.symlink(os.path.realpath(os.path.join(source, entry)), os.path.join(path, entry))
            pair = os.path.join(source, 'data'), os.path.join(path, 'data')
        else:
            if os.path.exists(path):
                os.remove(path)
            pair = source, path
        subprocess.run([sys.executable, os.path.join(HERE, 'degrade.py'), *pair, *options], check=True,
                       stderr=subprocess.DEVNULL)
        return path

    def score(self, name, options):
        """What score.c says, as numbers by name; and how the replay failed, or None."""
        truth = self.truth(name)
        recording = self.degrade(name, options)
        flow, details = os.path.join(self.work, 'flow'), os.path.join(self.work, 'details')
        replay = subprocess.run([self.sbtrace, 'replay', '--root', os.path.join(CORPUS, name, 'root'), '--no-host-root',
                                 '--sink', f'insn={flow}', recording], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, text=True, check=False)
        failed = None if replay.returncode in (0, 3) else f'status {replay.returncode}: {replay.stderr.strip()[:200]}'
        said = subprocess.run([self.scorer, truth, flow, details], stdout=subprocess.PIPE, text=True, check=True).stdout
        return {key: float(value) for key, value in re.findall(r'([a-z-]+) ([\d.]+)', said.split(' of ')[0])}, failed

    def keep_it(self, name, seed):
        if not self.keep:
            return
        os.makedirs(self.keep, exist_ok=True)
        for file in ('flow', 'details'):
            shutil.copy(os.path.join(self.work, file), os.path.join(self.keep, f'{name}-{seed}.{file}'))


def check(campaign, name, options):
    """Whether one mix is right; tells what it comes to."""
    scored, failed = campaign.score(name, options)
    is_wrong = failed or scored['other'] > 0 or scored['made-up'] > 0
    print('WRONG' if is_wrong else 'right', name, *options, *(f'{key} {value}' for key, value in scored.items()),
          failed or '', flush=True)
    if is_wrong:
        campaign.keep_it(name, options[-1])
    return not is_wrong


def parse():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=True)
    parser.add_argument('sbtrace')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--count', type=int, default=100)
    parser.add_argument('--recordings', default=USER)
    parser.add_argument('--seconds', type=float, default=float('inf'))
    parser.add_argument('--mix')
    parser.add_argument('--keep')
    return parser.parse_args()


def main():
    options = parse()
    if not os.path.isdir(CORPUS):
        print(f'skipped: no recordings with known truth in {CORPUS}')
        sys.exit(77)
    if options.mix:
        words = options.mix.split()
        mixes = [(words[0], words[1:])]
    else:
        names = options.recordings.split(',')
        mixes = (mix_of(seed, names) for seed in range(options.seed, options.seed + options.count))
    end = time.monotonic() + options.seconds
    ntried = nwrong = 0
    with tempfile.TemporaryDirectory() as work:
        campaign = Campaign(options.sbtrace, work, options.keep)
        for name, what in mixes:
            if time.monotonic() >= end:
                break
            ntried += 1
            nwrong += not check(campaign, name, what)
    print(f'{ntried} mixes, {nwrong} wrong')
    sys.exit(1 if nwrong else 0)


main()
