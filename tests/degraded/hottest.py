#!/usr/bin/env python3
"""hottest.py SBTRACE RECORDING TRUTH: the mapped files below whose names most instructions of user space ran,
the first one first: "count path" lines. Looks at every 50th instruction of the truth."""
import bisect
import collections
import json
import subprocess
import sys

STEP = 50


def all_maps(sbtrace, recording):
    """By process: what was mapped where, the latest last. Children have what their parents had."""
    maps = collections.defaultdict(list)
    dump = subprocess.run([sbtrace, 'dump', '--sideband', '--json', recording], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False, text=True).stdout
    for line in dump.splitlines():
        record = json.loads(line)
        fields = record.get('fields', {})
        if record.get('type') == 'FORK' and fields['pid'] != fields['ppid']:
            maps[fields['pid']] = list(maps[fields['ppid']])
        elif record.get('type') == 'COMM' and int(record['misc'], 16) & 0x2000:
            maps[fields['pid']] = []
        elif record.get('type') == 'MMAP2' and not fields['kernel']:
            begin = int(fields['addr'], 16)
            maps[fields['pid']].append((begin, begin + int(fields['len'], 16), fields['filename']))
    return maps


def main():
    maps = {pid: sorted(of_pid) for pid, of_pid in all_maps(sys.argv[1], sys.argv[2]).items()}
    begins = {pid: [entry[0] for entry in of_pid] for pid, of_pid in maps.items()}
    counts = collections.Counter()
    with open(sys.argv[3], encoding='ascii') as truth:
        for number, line in enumerate(truth):
            if number % STEP:
                continue
            _, pid, _, address = line.lstrip('?').split('\t')
            if pid.startswith('~'):
                continue
            pid, address = int(pid), int(address, 16)
            index = bisect.bisect_right(begins.get(pid, []), address) - 1
            if index >= 0 and address < maps[pid][index][1]:
                counts[maps[pid][index][2]] += STEP
    for path, count in counts.most_common():
        print(count, path)


main()
