// Work of a gate beside its verdict, with the whole library: it reads contracts, checks with the hub that they are the
// last ones, and delivers the events that gates have left on disk. Loaded only when there is such work.
import {
  appendFileSync,
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../bundle/signature.ts';
import { sleep, systemClock, type Timer } from '../../clock.ts';
import { ConfigurationError } from '../../failure.ts';
import { connectGuard } from '../../guard/connect.ts';
import { Guard } from '../../guard/guard.ts';
import type { Policy } from '../../guard/policy.ts';
import { HubClient, type HubOptions } from '../../hub.ts';
import { readBundle } from '../../rules/bundle/document.ts';
import { ServerSink } from '../../sinks/server.ts';
import { type ConnectionPlan, connectOptionsOf } from '../connection.ts';
import { type GateState, type KeptContracts, lineStart, sourcesOf } from './state.ts';

/** Contracts from files, read again and kept. @throws Error that names every problem */
export async function readContracts(plan: ConnectionPlan, state: GateState): Promise<KeptContracts> {
  const sources = sourcesOf(plan.contracts);
  const guard = await Guard.fromFile(plan.contracts, { ...plan.guard, openTelemetry: null });
  const texts = plan.contracts.map((path) => readFileSync(path));
  return keep(state, { sources, policyVersion: guard.policyVersion, name: guard.bundleName }, texts);
}

/**
 * Asks the hub for its contracts; those on disk stand in while it is away.
 * @param signal ends the wait for the hub
 * @throws ConfigurationError when there are none to use
 */
export async function fetchContracts(
  plan: ConnectionPlan,
  hub: HubOptions,
  state: GateState,
  signal?: AbortSignal,
): Promise<KeptContracts> {
  let isChecked = true;
  state.touch('tried', systemClock.now());
  let applied: { readonly policy: Policy; readonly close: () => Promise<void> };
  try {
    const options = {
      ...connectOptionsOf(plan, hub),
      onFindings: null,
      // Also a document that was pushed and rejected: the next gate asks again.
      onError: () => {
        isChecked = false;
      },
    };
    applied = await connectGuard(options, withoutGuard, signal);
  } catch (failure) {
    // The hub answered that there are none for us: what is kept must not stand in for that.
    if (failure instanceof ConfigurationError && !signal?.aborted) state.forgetContracts();
    throw failure;
  }
  const { version: policyVersion, name } = applied.policy;
  await applied.close();
  if (isChecked && !signal?.aborted) state.touch('checked', systemClock.now());
  const kept = state.contracts();
  if (kept?.policyVersion === policyVersion && kept.name === name) return kept;
  const saved = JSON.parse(readFileSync(state.path('document.json'), 'utf8')) as {
    readonly yaml_bytes: string;
  };
  const bytes = Buffer.from(saved.yaml_bytes, 'base64');
  if (sha256(bytes) !== policyVersion) throw new Error('the document on disk changed during the read');
  return keep(state, { sources: '', policyVersion, name }, [bytes]);
}

/** The policy that the connection has put in use, for a caller that makes no calls. */
function withoutGuard(policy: Policy) {
  let close = async (): Promise<void> => {};
  return {
    guard: { policy, close: () => close() },
    swap: () => {},
    onClose: (task: () => Promise<void>) => {
      close = task;
    },
  };
}

function keep(
  state: GateState,
  keptContracts: Omit<KeptContracts, 'documents'>,
  texts: readonly Buffer[],
): KeptContracts {
  const documents = texts.flatMap((text) => {
    const read = readBundle(text.toString('utf8'), { maxContracts: 500 });
    if (!read.ok) throw new Error(read.problems.map(({ message }) => message).join('\n'));
    return read.documents;
  });
  const contracts = { ...keptContracts, documents };
  state.keepContracts(contracts);
  return contracts;
}

/** Between two looks for events of other gates; milliseconds. */
const pauseMs = 1500;
/** Most gates that have opened the file have written their lines by then; milliseconds. */
const writeMs = 50;
const maxRounds = 40;
/** For all events that wait: nobody waits for this process, and a hub that is away ends it sooner. Milliseconds. */
const deliveryMs = 3_600_000;
/** Between two signs of life of the process that holds the lock; milliseconds. */
const renewMs = 20_000;
/** Counters of sessions that nobody touched for so long are forgotten. */
const counterLife = 7 * 24 * 3_600_000;

/** Updates the contracts and delivers events, once for all running gates. Undelivered events stay on disk. */
export async function deliver(plan: ConnectionPlan, hub: HubOptions, state: GateState): Promise<void> {
  if (!state.lock(systemClock.now())) return;
  let renewal: Timer | undefined;
  const renew = (): void => {
    state.renewLock(systemClock.now());
    renewal = systemClock.after(renewMs, renew);
  };
  renew();
  try {
    if (plan.contracts.length === 0) await fetchContracts(plan, hub, state).catch(() => {});
    for (let round = 0; round < maxRounds && state.hasEvents; round++) {
      checkLock(state);
      if (state.canSendMore) await collect(state);
      await send(plan, hub, state);
      await sleep(systemClock, pauseMs);
    }
    forgetCounters(join(state.folder, 'sessions'));
  } catch {
    // The next one tries again.
  } finally {
    renewal?.cancel();
    state.unlock();
  }
}

/** @throws Error when another process has taken over: the files of events are its own now */
function checkLock(state: GateState): void {
  if (!state.renewLock(systemClock.now())) throw new Error('another process delivers the events');
}

/** Takes the events that gates wrote away from them. */
async function collect(state: GateState): Promise<void> {
  const moving = state.path('moving.jsonl');
  const isLeft = statSync(moving, { throwIfNoEntry: false }) !== undefined;
  if (!isLeft) {
    if (!statSync(state.path('events.jsonl'), { throwIfNoEntry: false })) return;
    renameSync(state.path('events.jsonl'), moving);
    await sleep(systemClock, writeMs);
  }
  const file = openSync(moving, 'r');
  const sending = openSync(state.path('sending.jsonl'), 'a+', 0o600);
  const copyRest = (): void => appendFileSync(sending, readFileSync(file), { flush: true });
  try {
    appendFileSync(sending, lineStart(sending));
    // A crash in between sends them twice: the hub knows the call ids.
    copyRest();
    rmSync(moving);
    // Lines of gates that were slow. A slower one finds the file removed, and writes again.
    copyRest();
  } finally {
    closeSync(file);
    closeSync(sending);
  }
}

/** @throws Error when events are left */
async function send(plan: ConnectionPlan, options: HubOptions, state: GateState): Promise<void> {
  const hub = new HubClient(options);
  const spoolFile = state.path('sending.jsonl');
  const { postEvents } = hub;
  hub.postEvents = async (...batch) => {
    checkLock(state);
    const rejected = await postEvents(...batch);
    // Sent events leave the file after this.
    checkLock(state);
    return rejected;
  };
  if (plan.contracts.length > 0) {
    const guard = await Guard.fromFile(plan.contracts, {
      ...plan.guard,
      hub,
      spoolFile,
      closeTimeout: deliveryMs,
      openTelemetry: null,
      onFindings: null,
    });
    return guard.close();
  }
  const { agentId } = hub;
  return new ServerSink({ post: hub.postEvents, agentId, spoolFile, closeTimeout: deliveryMs }).close();
}

function forgetCounters(folder: string): void {
  const before = systemClock.now() - counterLife;
  for (const name of statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats && stats.mtimeMs < before) rmSync(path, { force: true });
  }
}
