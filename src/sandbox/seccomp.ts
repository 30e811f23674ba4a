/**
 * The system calls that a sandboxed program may not make, as a classic BPF program for bwrap's `--seccomp` (seccomp(2),
 * linux/filter.h). It blocks parts of the kernel that agents' tools do not need and that namespaces do not isolate:
 * vsock, for example, reaches the hypervisor from any namespace.
 */

interface Cpu {
  /** AUDIT_ARCH_* of linux/audit.h. A call with another architecture's numbers (32-bit code) ends the program. */
  readonly audit: number;
  readonly socket: readonly number[];
  /** Calls whose second argument is limited, since they allocate kernel memory that is charged to no process. */
  readonly bounded: readonly { readonly call: number; readonly most: number }[];
  readonly forbidden: readonly number[];
  /** Refused as if the kernel were older, so that programs use the older calls. */
  readonly missing: readonly number[];
}

const [EPERM, ENOSPC, ENOSYS, EAFNOSUPPORT] = [1, 28, 38, 97];
const FAMILIES = { unix: 1, inet: 2, inet6: 10, netlink: 16 } as const;
/** The kernel keeps 4,096 segments and 32,000 sets in a namespace: 256 MiB and 128 MiB at these sizes. */
const [SEGMENT_BYTES, SEMAPHORES] = [65_536, 64];
/** Since Linux 5.1 new calls have one number everywhere: the new mount calls, quotactl_fd and memfd_secret. */
const COMMON_FORBIDDEN = [428, 429, 430, 431, 432, 433, 442, 443, 447];
/** io_uring: it makes system calls that no filter sees. */
const COMMON_MISSING = [425, 426, 427];

/** Numbers: asm/unistd_64.h and asm-generic/unistd.h. In the order of the names in each comment. */
const CPUS: Readonly<Record<string, Cpu>> = {
  x64: {
    audit: 0xc000003e,
    socket: [41, 53],
    bounded: [
      { call: 29, most: SEGMENT_BYTES },
      { call: 64, most: SEMAPHORES },
    ],
    forbidden: [
      ...[250, 248, 249], // keyctl, add_key, request_key
      ...[298, 321, 323], // perf_event_open, bpf, userfaultfd
      ...[246, 320, 175, 313, 176], // kexec_load, kexec_file_load, init_module, finit_module, delete_module
      ...[303, 304, 300, 308], // name_to_handle_at, open_by_handle_at, fanotify_init, setns
      ...[165, 166, 155, 161], // mount, umount2, pivot_root, chroot
      ...[163, 167, 168, 169, 179, 103], // acct, swapon, swapoff, reboot, quotactl, syslog
      ...[172, 173], // iopl, ioperm
      ...COMMON_FORBIDDEN,
    ],
    missing: [68, ...COMMON_MISSING], // msgget: a queue is the kernel's memory too
  },
  arm64: {
    audit: 0xc00000b7,
    socket: [198, 199],
    bounded: [
      { call: 194, most: SEGMENT_BYTES },
      { call: 190, most: SEMAPHORES },
    ],
    forbidden: [
      ...[219, 217, 218],
      ...[241, 280, 282],
      ...[104, 294, 105, 273, 106],
      ...[264, 265, 262, 268],
      ...[40, 39, 41, 51],
      ...[89, 224, 225, 142, 60, 116],
      ...COMMON_FORBIDDEN,
    ],
    missing: [186, ...COMMON_MISSING],
  },
};

/** struct seccomp_data: the number, the architecture, and the low and high half of the n-th argument. */
const [NUMBER, ARCHITECTURE] = [0, 4];
const low = (argument: number) => 16 + 8 * argument;
const high = (argument: number) => 20 + 8 * argument;

const [LOAD, EQUAL, GREATER, AT_LEAST, RETURN] = [0x20, 0x15, 0x25, 0x35, 0x06];
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const refuse = (errno: number) => 0x00050000 | errno;
/** The numbers of the x32 ABI begin here, on the same architecture. */
const X32 = 0x40000000;

/** struct sock_filter: the code, how many instructions to skip if true and if false, and the operand. */
type Instruction = readonly [code: number, ifTrue: number, ifNot: number, operand: number];

/** The filter for a CPU as Node names it; null where the calls' numbers are not known here. */
export function seccompFilter(cpu: string): Uint8Array | null {
  const known = CPUS[cpu];
  return known ? assemble(instructions(known)) : null;
}

function instructions({ audit, socket, bounded, forbidden, missing }: Cpu): Instruction[] {
  const answer = (call: number, errno: number): Instruction[] => [
    [EQUAL, 0, 1, call],
    [RETURN, 0, 0, refuse(errno)],
  ];
  return [
    [LOAD, 0, 0, ARCHITECTURE],
    [EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, NUMBER],
    [AT_LEAST, 0, 1, X32],
    [RETURN, 0, 0, refuse(ENOSYS)],
    ...forbidden.flatMap((call) => answer(call, EPERM)),
    ...missing.flatMap((call) => answer(call, ENOSYS)),
    ...bounded.flatMap(({ call, most }) => boundedCall(call, most)),
    ...socket.flatMap(socketCall),
    [RETURN, 0, 0, ALLOW],
  ];
}

function boundedCall(call: number, most: number): Instruction[] {
  return [
    [EQUAL, 0, 6, call],
    [LOAD, 0, 0, high(1)],
    [EQUAL, 0, 2, 0],
    [LOAD, 0, 0, low(1)],
    [GREATER, 0, 1, most],
    [RETURN, 0, 0, refuse(ENOSPC)],
    [RETURN, 0, 0, ALLOW],
  ];
}

/** The family is an int: like the kernel, this reads the low half only. */
function socketCall(call: number): Instruction[] {
  const families = Object.values(FAMILIES);
  return [
    [EQUAL, 0, families.length + 3, call],
    [LOAD, 0, 0, low(0)],
    ...families.map((family, index): Instruction => [EQUAL, families.length - index, 0, family]),
    [RETURN, 0, 0, refuse(EAFNOSUPPORT)],
    [RETURN, 0, 0, ALLOW],
  ];
}

/** Both CPUs are little-endian. */
function assemble(program: readonly Instruction[]): Uint8Array {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(([code, ifTrue, ifNot, operand], index) => {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifNot, index * 8 + 3);
    bytes.writeUInt32LE(operand >>> 0, index * 8 + 4);
  });
  return bytes;
}
