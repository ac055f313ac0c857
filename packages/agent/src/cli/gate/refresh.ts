// Work of a gate beside its verdict, with the whole library: it reads contracts, checks with the hub that they are the
// last ones, and delivers the events that gates have left on disk. Loaded only when there is such work.
import { appendFileSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sha256 } from '../../bundle/signature.ts';
import { sleep, systemClock } from '../../clock.ts';
import { ConfigurationError } from '../../failure.ts';
import { Guard } from '../../guard/guard.ts';
import { HubClient, type HubOptions } from '../../hub.ts';
import { readBundle } from '../../rules/bundle/document.ts';
import { ServerSink } from '../../sinks/server.ts';
import { type ConnectionPlan, connectOptionsOf } from '../connection.ts';
import { type GateState, type KeptContracts, sourcesOf } from './state.ts';

/** Contracts from files, read again and kept. @throws Error that names every problem */
export async function readContracts(plan: ConnectionPlan, state: GateState): Promise<KeptContracts> {
  const sources = sourcesOf(plan.contracts);
  const guard = await Guard.fromFile(plan.contracts, { ...plan.guard, openTelemetry: null });
  const texts = plan.contracts.map((path) => readFileSync(path));
  return keep(state, { sources, policyVersion: guard.policyVersion, name: guard.bundleName }, texts);
}

/**
 * Asks the hub for its contracts; those on disk stand in while it is away.
 * @throws ConfigurationError when there are none to use
 */
export async function fetchContracts(
  plan: ConnectionPlan,
  hub: HubOptions,
  state: GateState,
): Promise<KeptContracts> {
  let away = false;
  state.touch('tried', systemClock.now());
  let guard: Guard;
  try {
    guard = await Guard.connect({
      ...connectOptionsOf(plan, hub),
      openTelemetry: null,
      onError: (_failure, what) => {
        if (what.startsWith('fetching the bundle') || what === 'following the stream') away = true;
      },
    });
  } catch (failure) {
    // The hub answered that there are none for us: what is kept must not stand in for that.
    if (failure instanceof ConfigurationError) state.forgetContracts();
    throw failure;
  }
  const { policyVersion, bundleName: name } = guard;
  await guard.close();
  if (!away) state.touch('checked', systemClock.now());
  const kept = state.contracts();
  if (kept?.policyVersion === policyVersion && kept.name === name) return kept;
  const saved = JSON.parse(readFileSync(state.path('document.json'), 'utf8')) as {
    readonly yaml_bytes: string;
  };
  const bytes = Buffer.from(saved.yaml_bytes, 'base64');
  if (sha256(bytes) !== policyVersion) throw new Error('the document on disk changed during the read');
  return keep(state, { sources: '', policyVersion, name }, [bytes]);
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
/** A gate that has opened the file has written its line by then; milliseconds. */
const writeMs = 50;
const maxRounds = 40;
/** Counters of sessions that nobody touched for so long are forgotten. */
const counterLife = 7 * 24 * 3_600_000;

/** Updates the contracts and delivers events, once for all running gates. Undelivered events stay on disk. */
export async function deliver(plan: ConnectionPlan, hub: HubOptions, state: GateState): Promise<void> {
  if (!state.lock(systemClock.now())) return;
  try {
    if (plan.contracts.length === 0) await fetchContracts(plan, hub, state).catch(() => {});
    for (let round = 0; round < maxRounds && state.hasEvents; round++) {
      await collect(state);
      await send(plan, hub, state.path('sending.jsonl'));
      await sleep(systemClock, pauseMs);
    }
    forgetCounters(join(state.folder, 'sessions'));
  } catch {
    // The next one tries again.
  } finally {
    state.unlock();
  }
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
  // A crash in between sends them twice: the hub knows the call ids.
  appendFileSync(state.path('sending.jsonl'), readFileSync(moving), { mode: 0o600, flush: true });
  rmSync(moving);
}

/** @throws Error when events are left */
async function send(plan: ConnectionPlan, options: HubOptions, spoolFile: string): Promise<void> {
  const hub = new HubClient(options);
  if (plan.contracts.length > 0) {
    const guard = await Guard.fromFile(plan.contracts, {
      ...plan.guard,
      hub,
      spoolFile,
      openTelemetry: null,
      onFindings: null,
    });
    return guard.close();
  }
  return new ServerSink({ post: hub.postEvents, agentId: hub.agentId, spoolFile }).close();
}

function forgetCounters(folder: string): void {
  const before = systemClock.now() - counterLife;
  for (const name of statSync(folder, { throwIfNoEntry: false }) ? readdirSync(folder) : []) {
    const path = join(folder, name);
    const stats = statSync(path, { throwIfNoEntry: false });
    if (stats && stats.mtimeMs < before) rmSync(path, { force: true });
  }
}
