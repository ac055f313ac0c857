// Reads the machine and processes from /proc: processor time, memory, written bytes. Elsewhere all of these are null.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { maxOtherCores } from './figures.ts';
import type { Machine } from './results.ts';

/** Of /proc/PID/stat, in 1/100 s on every Linux that Node runs on. */
const tickMs = 10;

function readProc(path: string): string | null {
  try {
    return readFileSync(`/proc/${path}`, 'utf8');
  } catch {
    return null;
  }
}

const numberAfter = (text: string | null, label: string): number | null => {
  const match = text === null ? null : new RegExp(`^${label}:?\\s+(\\d+)`, 'm').exec(text);
  return match === null ? null : Number(match[1]);
};

/** Processor time of the threads that a process has now, milliseconds; 0 where the kernel does not tell. */
function threadMsOf(pid: number): number {
  const times = threadsOf(pid).map((thread) =>
    Number(readProc(`${pid}/task/${thread}/schedstat`)?.split(' ')[0] ?? 0),
  );
  return times.reduce((sum, time) => sum + time, 0) / 1e6;
}

function threadsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/**
 * User and system time of a process and its threads so far, milliseconds. In whole ticks, the time of few idle streams
 * would be wrong by a third. The threads tell what the ticks leave out, unless a thread has ended.
 */
export function processorMsOf(pid: number): number | null {
  const text = readProc(`${pid}/stat`);
  if (text === null) return null;
  // The name in brackets may hold spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const ticksMs = (Number(fields[11]) + Number(fields[12])) * tickMs;
  // Both are rounded down.
  return Math.min(Math.max(ticksMs, threadMsOf(pid)), ticksMs + 2 * tickMs);
}

export function residentBytesOf(pid: number): number | null {
  const kilobytes = numberAfter(readProc(`${pid}/status`), 'VmRSS');
  return kilobytes === null ? null : kilobytes * 1024;
}

/** Memory of the kernel's own structures, sockets among them. */
export function kernelBytes(): number | null {
  const kilobytes = numberAfter(readProc('meminfo'), 'Slab');
  return kilobytes === null ? null : kilobytes * 1024;
}

/** A process and all that it started. */
export function processTree(pid: number): readonly number[] {
  const children = (readProc(`${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(processTree)];
}

/** A value of several processes; null if one of them is absent. */
export const totalOf = (pids: readonly number[], read: (pid: number) => number | null): number | null =>
  pids.reduce<number | null>((sum, pid) => {
    const value = read(pid);
    return sum === null || value === null ? null : sum + value;
  }, 0);

/** Starts a new count. @returns a call for the highest resident memory since then; null where the kernel refuses */
export function highestResidentBytes(pid: number): () => number | null {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    return () => null;
  }
  return () => {
    const kilobytes = numberAfter(readProc(`${pid}/status`), 'VmHWM');
    return kilobytes === null ? null : kilobytes * 1024;
  };
}

/** Bytes that the process has sent towards a disk; null also on a file system without a disk, which counts none. */
export const writtenBytesOf = (pid: number): number | null =>
  numberAfter(readProc(`${pid}/io`), 'write_bytes') || null;

/** Bytes in the process's write calls: files, pipes and the log; not sockets. */
export const writeCallBytesOf = (pid: number): number | null => numberAfter(readProc(`${pid}/io`), 'wchar');

/** Processor time of the whole machine so far, milliseconds. */
export const machineBusyMs = (): number =>
  cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0);

/** Time so far that processors were idle while a disk had requests, milliseconds. */
function diskWaitMs(): number | null {
  const fields = /^cpu +(.*)$/m.exec(readProc('stat') ?? '')?.[1]?.split(' ');
  const ticks = Number(fields?.[4]);
  return Number.isFinite(ticks) ? ticks * tickMs : null;
}

export interface Usage {
  readonly elapsedMs: number;
  /** Of the whole machine; null for a hub elsewhere. */
  readonly diskWaitMs: number | null;
  readonly hubMs: number | null;
  /** The client with the most processor time. */
  readonly busiestClientMs: number | null;
  readonly clientMs: number | null;
  readonly otherMs: number | null;
  readonly writtenBytes: number | null;
  readonly hubRssBytes: number | null;
}

/** Null where a value is absent. */
export const minus = (after: number | null, before: number | null): number | null =>
  after === null || before === null ? null : after - before;

/**
 * What each of `count` added to a value. Null for a decrease: something else gave back more than they took, so theirs
 * is not measured.
 */
export const addedByEach = (added: number | null, count: number): number | null =>
  added === null || added < 0 ? null : added / count;

/**
 * Measures the processor time of a hub, its clients and everything else from now until the returned call.
 * @param hub its process, or all processes of a cluster
 */
export function startUsage(hub: number | readonly number[], clients: readonly number[]): () => Usage {
  const hubs = typeof hub === 'number' ? [hub] : hub;
  const read = () => ({
    at: performance.now(),
    busy: machineBusyMs(),
    diskWait: diskWaitMs(),
    own: processorMsOf(process.pid),
    hub: totalOf(hubs, processorMsOf),
    clients: clients.map(processorMsOf),
    written: totalOf(hubs, writtenBytesOf),
  });
  const before = read();
  return () => {
    const after = read();
    const hubMs = minus(after.hub, before.hub);
    const times = after.clients.map((value, n) => minus(value, before.clients[n] ?? null));
    const clientTimes = times.filter((value) => value !== null);
    const clientMs =
      clientTimes.length === times.length ? clientTimes.reduce((sum, value) => sum + value, 0) : null;
    const ownMs = minus(after.own, before.own);
    return {
      elapsedMs: after.at - before.at,
      diskWaitMs: hubMs === null ? null : minus(after.diskWait, before.diskWait),
      hubMs,
      clientMs,
      busiestClientMs: clientMs === null ? null : Math.max(0, ...clientTimes),
      otherMs:
        hubMs === null || clientMs === null || ownMs === null
          ? null
          : Math.max(0, after.busy - before.busy - hubMs - clientMs - ownMs),
      writtenBytes: minus(after.written, before.written),
      hubRssBytes: totalOf(hubs, residentBytesOf),
    };
  };
}

/** Cores in use during a second. */
export async function measureBusyCores(): Promise<number> {
  const [busy, at] = [machineBusyMs(), performance.now()];
  await delay(1000);
  return Math.max(0, (machineBusyMs() - busy) / (performance.now() - at));
}

/** Cores that other work uses during a second: all but this process and what it started. */
async function measureOtherCores(): Promise<number> {
  const pids = processTree(process.pid);
  const [own, at] = [totalOf(pids, processorMsOf), performance.now()];
  const busy = await measureBusyCores();
  const spent = minus(totalOf(pids, processorMsOf), own) ?? 0;
  return Math.max(0, busy - spent / (performance.now() - at));
}

/**
 * Waits, at most `seconds`, until other work uses as little for a second as a verdict allows.
 * @param measure returns cores, and takes some time. Default: other work of a second
 */
export async function waitUntilQuiet(
  seconds: number,
  measure: () => Promise<number> = measureOtherCores,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  while (performance.now() < end) if ((await measure()) <= maxOtherCores) return;
}

/** Files and sockets that this process, and each one that it starts, can have. */
export function descriptorLimit(): number | null {
  const files = /^Max open files\s+(\d+)/m.exec(readProc('self/limits') ?? '');
  return files === null ? null : Number(files[1]);
}

export async function describeMachine(): Promise<Machine> {
  let clock: string | null = null;
  try {
    clock = readFileSync('/sys/devices/system/clocksource/clocksource0/current_clocksource', 'utf8').trim();
  } catch {
    // Absent outside Linux and in some containers.
  }
  return {
    cpus: cpus().length,
    cpu_model: cpus()[0]?.model ?? '',
    memory_bytes: totalmem(),
    kernel: release(),
    clock,
    fd_limit: descriptorLimit(),
    busy_before: await measureBusyCores(),
  };
}
