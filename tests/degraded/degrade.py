#!/usr/bin/env python3
"""degrade.py IN OUT WHAT...: a copy of a perf.data file (of a directory: its file "data") that is worse, as
recordings of busy machines are. Intel PT, one file, not packed, recorded with sample_id_all.

  switch=P mmap=P comm=P fork=P exit=P   each record of that kind that has a time is missing with probability P
  cpu=N                           all records that CPU N wrote are missing; its trace is there
  burst=N,LENGTH                  of each CPU, N times LENGTH records in a row are missing, and a LOST record says so, as
                                  it is where nobody reads a full ring buffer
  strip=mtc,cyc,tsc               no packets of that kind: mtc takes TMA with it; tsc leaves those at PSBs, and
                                  makes sense only with mtc
  time=N                          as a processor tells the time: no CYC packets, MTCs every 2^N ticks of the crystal and
                                  while tracing is off, too, but no TSC where user space is entered, as tracers in
                                  software have it; N is at least the recording's
  overflow=N                      every N bytes of trace, what comes before the next PSB is an overflow
  truncated=N                     the same, dropped by the kernel, which says so (AUX record, truncated)
  seed=N                          of the probabilities (1)

Records are taken out, packets become PAD packets: trace stays where it is. Says on standard error what it did.
Formats: perf.data-file-format.txt of the kernel's documentation; Intel SDM vol. 3, "Intel Processor Trace".
"""
import random
import struct
import sys

LOST = 2
MMAP, COMM, EXIT, FORK, MMAP2, AUX, SWITCH, SWITCH_WIDE = 1, 3, 4, 7, 10, 11, 14, 15
SAMPLE, USER_TYPES, AUXTRACE_INFO, AUXTRACE = 9, 64, 70, 71
KINDS = {'switch': (SWITCH, SWITCH_WIDE), 'mmap': (MMAP, MMAP2), 'comm': (COMM,), 'fork': (FORK,), 'exit': (EXIT,)}
AUXTRACE_INDEX = 18  # a feature
TRUNCATED = 1
PSB = b'\x02\x82' * 8
OVF = b'\x02\xf3'


# ---- perf.data -----------------------------------------------------------------------------------

class Recording:
    """The parts of a file: head, records with their payload, tail; and where they were."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            self.bytes = bytearray(file.read())
        if self.bytes[:8] != b'PERFILE2':
            sys.exit(f'{path}: no perf.data file: magic {bytes(self.bytes[:8])!r}')
        _, self.attr_size, self.attrs, self.attrs_size, self.data, self.data_size = \
            struct.unpack_from('<6Q', self.bytes, 8)
        self.features = int.from_bytes(self.bytes[72:104], 'little')
        sample_type, = struct.unpack_from('<Q', self.bytes, self.attrs + 24)
        self.set_trailer(sample_type)
        self.records = []  # [old offset, bytes]
        offset, end = self.data, self.data + self.data_size
        while offset + 8 <= end:
            kind, _, size = struct.unpack_from('<IHH', self.bytes, offset)
            if size < 8:
                sys.exit(f'{path}: record of {size} bytes at {offset:#x}')
            if kind == AUXTRACE:
                size += struct.unpack_from('<Q', self.bytes, offset + 8)[0]
            self.records.append([offset, self.bytes[offset:offset + size]])
            offset += size

    def set_trailer(self, sample_type):
        """Where in a record's trailer time and CPU are, from its end: TID TIME ID STREAM_ID CPU IDENTIFIER."""
        behind = 0
        self.time_at = self.cpu_at = None
        for bit in (16, 7, 9, 6, 2, 1):  # PERF_SAMPLE_*, from the last one
            if sample_type >> bit & 1:
                behind += 8
                if bit == 7:
                    self.cpu_at = behind
                elif bit == 2:
                    self.time_at = behind
        self.trailer = behind
        if not self.time_at or not self.cpu_at:
            sys.exit(f'records without time or CPU: sample type {sample_type:#x}')

    def time(self, record):
        """Of a record of the kernel's; zero for what perf made up."""
        if kind_of(record) >= USER_TYPES or kind_of(record) == SAMPLE or len(record) < 8 + self.time_at:
            return 0
        return struct.unpack_from('<Q', record, len(record) - self.time_at)[0]

    def cpu(self, record):
        return struct.unpack_from('<I', record, len(record) - self.cpu_at)[0]

    def pmu(self):
        return next(struct.unpack_from('<Q', record, 16)[0] for _, record in self.records
                    if kind_of(record) == AUXTRACE_INFO)

    def clear_config(self, bits):
        """Of the attributes of Intel PT."""
        pmu = self.pmu()
        for at in range(self.attrs, self.attrs + self.attrs_size, self.attr_size):
            kind, _, config = struct.unpack_from('<IIQ', self.bytes, at)
            if kind == pmu:
                struct.pack_into('<Q', self.bytes, at + 8, config & ~bits)

    def set_mtc_freq(self, longer):
        """Returns what it was."""
        pmu = self.pmu()
        freq = 0
        for at in range(self.attrs, self.attrs + self.attrs_size, self.attr_size):
            kind, _, config = struct.unpack_from('<IIQ', self.bytes, at)
            if kind == pmu:
                freq = config >> 14 & 15
                struct.pack_into('<Q', self.bytes, at + 8, config & ~(15 << 14) | longer << 14)
        return freq

    def write(self, path):
        moved, out = {}, bytearray(self.bytes[:self.data])
        for old, record in self.records:
            moved[old] = len(out)
            out += record
        end = self.data + self.data_size
        shift = len(out) - end
        struct.pack_into('<Q', out, 48, len(out) - self.data)
        tail = len(out)
        out += self.bytes[end:]
        for number in range(256):
            if not self.features >> number & 1:
                continue
            offset, size = struct.unpack_from('<QQ', out, tail)
            struct.pack_into('<Q', out, tail, offset + shift)
            if number == AUXTRACE_INDEX:
                for at in range(offset + shift + 8, offset + shift + size, 16):
                    struct.pack_into('<Q', out, at, moved[struct.unpack_from('<Q', out, at)[0]])
            tail += 16
        with open(path, 'wb') as file:
            file.write(out)


def kind_of(record):
    return struct.unpack_from('<I', record)[0]


# ---- Packets -------------------------------------------------------------------------------------

IP_BYTES = (0, 2, 4, 6, 6, None, 8, None)
TMA_TICKS = 2000000  # of a time stamp counter: fewer than 16 bits of a crystal
EXTENDED = {0x82: 16, 0x23: 2, 0xf3: 2, 0xa3: 8, 0xc8: 7, 0x03: 4, 0x43: 8, 0x73: 7, 0x83: 2, 0xc3: 11, 0x62: 2,
            0xe2: 2, 0xc2: 10, 0x22: 4, 0xa2: 7, 0x63: 3, 0x33: 2, 0xb3: 2, 0x12: 6, 0x32: 10, 0x92: 6, 0xb2: 10,
            0x13: 4, 0x53: 11}


def packet(trace, at):
    """Size and name of the packet at @at; the name is of those that matter here."""
    first = trace[at]
    if first == 0x02:
        second = trace[at + 1]
        if second not in EXTENDED:
            raise ValueError(f'packet 02 {second:02x} at {at:#x} of the trace')
        return EXTENDED[second], {0x82: 'psb', 0x23: 'psbend', 0x73: 'tma'}.get(second)
    if first & 1 == 0:
        return 1, None  # PAD, TNT
    if first & 3 == 3:
        size = 1
        more = first & 4
        while more:
            more = trace[at + size] & 1
            size += 1
        return size, 'cyc'
    if first == 0x19:
        return 8, 'tsc'
    if first == 0x59:
        return 2, 'mtc'
    if first == 0x99:
        return 2, None
    if first & 0x1f in (0x0d, 0x11, 0x01, 0x1d) and IP_BYTES[first >> 5] is not None:
        return 1 + IP_BYTES[first >> 5], 'fup' if first & 0x1f == 0x1d else None
    raise ValueError(f'packet {first:02x} at {at:#x} of the trace')


def packets(trace, begin, end):
    while begin < end:
        try:
            size, name = packet(trace, begin)
        except IndexError:
            return
        yield begin, size, name
        begin += size


def address_of_psb(trace, psb):
    """The address that the FUP in a PSB+ holds; None: there is none."""
    for at, size, name in packets(trace, psb, len(trace)):
        if name == 'psbend':
            return None
        if name == 'fup':
            payload = bytes(trace[at + 1:at + size])
            address = int.from_bytes(payload, 'little')
            if trace[at] >> 5 == 3 and address >> 47:
                address |= 0xffff << 48
            return address
    return None


def all_psbs(trace):
    found, at = [], trace.find(PSB)
    while at >= 0:
        found.append(at)
        at = trace.find(PSB, at + len(PSB))
    return found


def strip(trace, names):
    count, header = 0, False
    for at, size, name in packets(trace, max(trace.find(PSB), 0), len(trace)):
        if name == 'psb':
            header = True
        elif name == 'psbend':
            header = False
        elif name in names and not (name == 'tsc' and header):
            trace[at:at + size] = bytes(size)
            count += 1
    return count


class Crystal:
    """Which MTCs there are, and which there would be with a longer period."""

    def __init__(self, freq, longer):
        self.freq, self.skip = freq, longer - freq
        self.now = self.tsc = None

    def begin(self, ctc, tsc):
        """At a PSB; what is known from the packets before stays, so that MTCs go on."""
        self.now, self.tsc = self.at(ctc), tsc

    def at(self, ctc):
        """The 16 bits of a TMA packet, as a number of MTCs that goes on."""
        number = ctc >> self.freq
        return number if self.now is None else self.now + (number - self.now) % (0x10000 >> self.freq)

    def go_to(self, number):
        """The payloads of the longer MTCs that come up to it; one in 200 is enough."""
        first, last = self.now >> self.skip, number >> self.skip
        self.now = number
        return bytes(byte for mtc in [*range(first + 200, last, 200), *[last] * (first != last)]
                     for byte in (0x59, mtc & 0xff))


def tell_time(trace, freq, longer):
    """TSC and TMA where tracing is turned on become MTCs, as far as they have room."""
    crystal, header, stamp, count = Crystal(freq, longer), False, None, 0
    for at, size, name in packets(trace, max(trace.find(PSB), 0), len(trace)):
        if name in ('psb', 'psbend'):
            header = name == 'psb'
        elif name == 'tsc':
            stamp = at, int.from_bytes(trace[at + 1:at + size], 'little')
        elif name == 'tma' and stamp and at == stamp[0] + 8:
            begin, tsc = stamp
            ctc = int.from_bytes(trace[at + 2:at + 4], 'little')
            # TMA does not tell longer times than its 16 bits.
            if header or crystal.now is None or tsc - crystal.tsc > TMA_TICKS:
                crystal.begin(ctc, tsc)
                continue
            mtcs = crystal.go_to(crystal.at(ctc))
            crystal.tsc = tsc
            if len(mtcs) <= at + size - begin:
                trace[begin:at + size] = mtcs + bytes(at + size - begin - len(mtcs))
                count += 1
        elif name == 'mtc' and crystal.now is not None:
            mtcs = crystal.go_to(crystal.now + (trace[at + 1] - crystal.now & 0xff))
            trace[at:at + size] = mtcs if len(mtcs) == size else bytes(size)
        elif name == 'cyc':
            trace[at:at + size] = bytes(size)
    return count


def holes(trace, distance):
    """Every @distance bytes, a stretch from behind some packet up to the next PSB."""
    psbs, wanted = all_psbs(trace), distance
    for psb, following in zip(psbs, psbs[1:]):
        if following < wanted:
            continue
        header = True
        for at, size, name in packets(trace, psb, following):
            header = header and name != 'psbend'
            if not header and at >= wanted and name != 'psbend' and following - at >= 16:
                yield at, following
                break
        wanted = max(wanted, following) // distance * distance + distance


def overflow(trace, distance):
    count = 0
    for begin, end in holes(trace, distance):
        address = address_of_psb(trace, end)
        told = OVF if address is None else OVF + b'\xdd' + struct.pack('<Q', address)
        trace[begin:end] = bytes(end - begin - len(told)) + told
        count += 1
    return count


def truncate(trace, distance):
    """Where something is missing."""
    places = []
    for begin, end in holes(trace, distance):
        trace[begin:end] = bytes(end - begin)
        places.append(begin)
    return places


# ---- Trace in a recording ------------------------------------------------------------------------

class Stream:
    """The trace of one buffer, whose pieces follow each other."""

    def __init__(self):
        self.pieces = []  # (record, where in the stream)
        self.trace = bytearray()
        self.cpu = 0

    def add(self, record):
        size, where = struct.unpack_from('<QQ', record, 8)
        self.cpu = struct.unpack_from('<I', record, 40)[0]
        self.pieces.append((record, where))
        # What comes where the piece before has not ended yet replaces what that was padded with.
        del self.trace[where:]
        self.trace += bytes(where - len(self.trace)) + record[48:48 + size]

    def put_back(self):
        for record, where in self.pieces:
            size, = struct.unpack_from('<Q', record, 8)
            part = self.trace[where:where + size]
            record[48:48 + len(part)] = part


def streams_of(recording):
    streams = {}
    for _, record in recording.records:
        if kind_of(record) == AUXTRACE:
            idx, tid, cpu = struct.unpack_from('<IiI', record, 32)
            streams.setdefault((idx, tid, cpu), Stream()).add(record)
    return list(streams.values())


def flag_truncated(recording, stream, places):
    """AUX records say where it is: each that there is becomes one for each piece of its trace."""
    records, told = [], 0
    for entry in recording.records:
        record = entry[1]
        if kind_of(record) == AUX and recording.cpu(record) == stream.cpu:
            offset, size, _ = struct.unpack_from('<QQQ', record, 8)
            end = offset + size
            for place in [place for place in places if offset <= place < end]:
                piece = bytearray(record)
                struct.pack_into('<QQQ', piece, 8, offset, place - offset, TRUNCATED)
                records.append([None, piece])
                offset, told = place, told + 1
            struct.pack_into('<QQ', record, 8, offset, end - offset)
        records.append(entry)
    if told < len(places):
        sys.exit(f'no AUX record of CPU {stream.cpu} for {len(places) - told} holes')
    recording.records[:] = records


def change_trace(recording, options, done):
    names = set(options.get('strip', '').split(',')) - {''}
    if 'mtc' in names:
        names.add('tma')
    recording.clear_config((1 << 9 if 'mtc' in names else 0) | (1 << 1 if 'cyc' in names else 0))
    longer = int(options.get('time', 0))
    if longer:
        recording.clear_config(1 << 1)
        freq = recording.set_mtc_freq(longer)
    for stream in streams_of(recording):
        if longer:
            done['times'] = done.get('times', 0) + tell_time(stream.trace, freq, longer)
        if names:
            done['packets'] = done.get('packets', 0) + strip(stream.trace, names)
        if 'overflow' in options:
            done['overflows'] = done.get('overflows', 0) + overflow(stream.trace, int(options['overflow']))
        if 'truncated' in options:
            places = truncate(stream.trace, int(options['truncated']))
            done['holes'] = done.get('holes', 0) + len(places)
            flag_truncated(recording, stream, places)
        stream.put_back()


def lost_record(count, trailer):
    """What the kernel writes before the first record that there is room for again."""
    return [None, bytearray(struct.pack('<IHHQQ', LOST, 0, 24 + len(trailer), 0, count)) + trailer]


def lose_bursts(recording, number, length, chance, done):
    of_cpu = {}
    for index, (_, record) in enumerate(recording.records):
        if recording.time(record):
            of_cpu.setdefault(recording.cpu(record), []).append(index)
    gone, told = set(), {}
    for _, indices in sorted(of_cpu.items()):
        for _ in range(number):
            first = chance.randrange(max(len(indices) - length, 1))
            lost = [index for index in indices[first:first + length] if index not in gone]
            gone.update(lost)
            if lost and first + length < len(indices):
                told.setdefault(indices[first + length], []).append(len(lost))
    records = []
    for index, entry in enumerate(recording.records):
        if index in told:
            records.append(lost_record(sum(told[index]), entry[1][-recording.trailer:]))
        if index not in gone:
            records.append(entry)
    recording.records = records
    done['records in bursts'] = len(gone)


def take_out(recording, options, done):
    chance = random.Random(int(options.get('seed', 1)))
    probability = {kind: float(options.get(name, 0)) for name, kinds in KINDS.items() for kind in kinds}
    cpu = int(options.get('cpu', -1))

    def goes(record):
        if not recording.time(record):
            return False
        if recording.cpu(record) == cpu:
            return True
        wanted = probability.get(kind_of(record), 0)
        return wanted > 0 and chance.random() < wanted

    if 'burst' in options:
        lose_bursts(recording, *map(int, options['burst'].split(',')), chance, done)
    before = len(recording.records)
    recording.records = [entry for entry in recording.records if not goes(entry[1])]
    done['records'] = before - len(recording.records)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    options = dict(argument.split('=', 1) for argument in sys.argv[3:])
    known = set(KINDS) | {'cpu', 'burst', 'strip', 'time', 'overflow', 'truncated', 'seed'}
    if set(options) - known:
        sys.exit(f'unknown: {", ".join(sorted(set(options) - known))}')
    recording, done = Recording(sys.argv[1]), {}
    change_trace(recording, options, done)
    take_out(recording, options, done)
    recording.write(sys.argv[2])
    print('degrade.py:', ', '.join(f'{count} {what}' for what, count in done.items()), file=sys.stderr)


main()
