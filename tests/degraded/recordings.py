"""recordings.py - programs that are recorded in software on the spot, with all that they ran as the truth.

What is recorded, and with which packets, depends on a seed alone - and on what is installed; what exactly ran depends on
the machine, too. So a recording that is worth keeping is kept: it lies in a folder like one of ../shared/corpus.
"""
import os
import random
import shutil
import signal
import subprocess

SOURCES = {
    'threads.py': '''
import os, threading
def work(n):
    return sum(i * i for i in range(n))
threads = [threading.Thread(target=work, args=(30,)) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
child = os.fork()
if child == 0:
    os._exit(work(10) % 7)
os.waitpid(child, 0)
''',
    'loop.c': '''
#include <stdio.h>
int main(void)
{
	for (int i = 0; i < 3; i++)
		printf("%d\\n", i);
	return 0;
}
''',
    'words': 'a b c d e\n',
    'makefile': '''
all: a b c
a b: words
	@sort words | tr a-e f-j
c: a b
	@echo $@ $(shell wc -c <words)
''',
}

# Pipes, children with and without exec, threads, signals, coroutines of shells, code that is loaded late.
COMMANDS = (
    ('sh', '-c', 'seq 30 | sort -r | head -3'),
    ('sh', '-c', 'for i in 1 2 3; do /bin/true & done; wait; (exec /bin/echo hi)'),
    ('sh', '-c', 'tar c /etc/apt 2>/dev/null | gzip -1 | wc -c'),
    ('perl', '-e', 'for (1..3) { my $p = fork; if (!$p) { my @a = sort map {rand} 1..20; exit 0 } } 1 while wait > 0;'),
    ('perl', '-e', '$SIG{ALRM} = sub {$n++}; for (1..3) {kill ALRM => $$} eval {die "x"}; print $n'),
    ('awk', 'BEGIN {for (i = 0; i < 200; i++) a[i % 7] += i; for (k in a) print k, a[k]; "echo a b" | getline l; print l}'),
    ('xargs', '-P', '3', '-n', '1', '-a', 'words', 'echo'),
    ('bash', '-c', 'coproc cat; echo x >&${COPROC[1]}; read -u ${COPROC[0]} y; kill $COPROC_PID; wait 2>/dev/null; echo $y'),
    ('bash', '-c', 'trap "echo t" USR1; (kill -USR1 $$); a=$(echo b | tr b c); echo $a'),
    ('sort', '--parallel=3', '/etc/services'),
    ('find', '/etc/apt', '-name', '*.list'),
    ('gcc', '-E', 'loop.c'),
    ('as', '--version'),
    ('python3', '-S', '-E', 'threads.py'),
    ('make', '-s', '-j2'),
    ('git', 'grep', '--no-index', '--threads=3', '-c', 'include', '--', '*.c'),
    ('timeout', '-s', 'USR1', '0.2', 'sh', '-c', 'trap "echo u; exit" USR1; sleep 9 & wait'),
    ('setsid', '-w', 'nice', 'env', '-i', 'PATH=/bin', 'sh', '-c', 'ulimit -c; echo *; ls -l | cat'),
    ('sed', '-n', '-e', 's/[aeiou]\\+/<&>/gp', '/etc/services'),
    ('xz', '-T2', '-0', '-c', '/etc/services'),
    ('sqlite3', ':memory:', 'create table t(a); insert into t values(1),(2); select sum(a), group_concat(a) from t'),
)
SCRATCH = 'files'  # for what a workload writes
WORKLOADS = (('mt', '100'), ('relay', '60'), ('forkdl',), ('execer',), ('stacks',), ('storm', '20'), ('wary',), ('sig',),
             ('jit', SCRATCH), *(('remap', SCRATCH, how) for how in ('files', 'write', 'protect')),
             *(('share', SCRATCH, how) for how in ('fork', 'vfork', 'share', 'above', 'apart', 'workers')))
LIMIT = 300  # seconds, of a recording


def run_for(seconds, command, **options):
    """Whether it ended by itself in that time; else it is ended, and all that it began."""
    with subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, **options) as process:
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False
        return True


def commands_of(workloads, programs):
    """Those that are there; with @programs (names), only these."""
    found = [command for command in COMMANDS if shutil.which(command[0])]
    if workloads:
        paths = [(os.path.join(workloads, name), *rest) for name, *rest in WORKLOADS]
        found += [command for command in paths if os.access(command[0], os.X_OK)]
    return [command for command in found if not programs or os.path.basename(command[0]) in programs]


def options_of(chance):
    """Those of sbtrace record."""
    options = ['-c', str(chance.choice((1, 2, 2, 3, 4)))]
    for share, option in ((0.8, '--mtc'), (0.5, '--cyc'), (0.2, '--tnt64'), (0.2, '--no-retcomp')):
        if chance.random() < share:
            options.append(option)
    if chance.random() < 0.5:
        options += ['--psb-period', str(chance.choice((256, 512, 1024, 4096)))]
    if chance.random() < 0.1:
        options += ['--overflow-every', str(chance.choice((700, 2000, 5000)))]
    return options + ['--seed', str(chance.randrange(1 << 30))]


class Recorder:
    """Records what a seed says into a folder: perf.data, root, truth."""

    def __init__(self, sbtrace, workloads, programs):
        self.sbtrace = os.path.abspath(sbtrace)
        self.commands = commands_of(workloads and os.path.abspath(workloads), programs)

    def record(self, seed, folder):
        """How it was made, in words; None: there is no recording."""
        chance = random.Random(seed)
        command = chance.choice(self.commands)
        options = options_of(chance)
        os.makedirs(os.path.join(folder, SCRATCH))
        for name, text in SOURCES.items():
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as file:
                file.write(text)
        record = [self.sbtrace, 'record', '--software', '-o', 'perf.data', '--copy-root', 'root', '--truth', 'truth']
        ended = run_for(LIMIT, [*record, *options, '--', *command], cwd=folder,
                        env={'PATH': '/usr/bin:/bin', 'LC_ALL': 'C', 'HOME': folder})
        if not ended or not os.path.exists(os.path.join(folder, 'perf.data')):
            return None
        return ' '.join([*options, '--', *command])
