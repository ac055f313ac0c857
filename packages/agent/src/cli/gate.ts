// `reeve-agent gate`: a verdict for a coding assistant that calls a hook before each of its tools. Everything it does
// not need for the verdict is loaded later or runs in a process of its own, because the assistant waits.
import { readSync } from 'node:fs';
import { sleep, systemClock } from '../clock.ts';
import { type Command, parseOptions, UsageError } from './command.ts';
import { type ConnectionPlan, connectionHelp, connectionOptions, planConnection } from './connection.ts';
import { formats, type HookFormat, readInput, type Verdict } from './gate/formats.ts';
import { judge } from './gate/judge.ts';
import { GateState, type KeptContracts, sourcesOf } from './gate/state.ts';

const help = `Usage: reeve-agent gate [options] < CALL

Judges the call of a tool that a coding assistant is about to make. The call comes as JSON on standard input; the verdict goes out as the
assistant reads it, on standard output and as exit code: 0 allowed, 2 denied (the reason is on standard error). An allowed call prints
nothing to the assistants, so that their own permissions still hold.

Options:
  --format FORMAT      ${Object.keys(formats).join(', ')}. Default: generic, which takes
                       {"tool": "…", "args": {…}, "cwd": "…", "session": "…"} and prints {"verdict": "…", "contract": "…", "reason": "…"}
  --max-age SECONDS    asks the hub first when its contracts were last checked longer ago; default: 300
  --on-error VERDICT   when the call cannot be judged: deny (default) or allow
${connectionHelp}
Contracts come from the folder of state, where the last good document is kept: no verdict waits for the hub but the first one, one after
--max-age, and one that a person must approve. A process in the background brings the document up to date and delivers events.
`;

const options = {
  ...connectionOptions,
  format: { type: 'string' },
  'max-age': { type: 'string' },
  'on-error': { type: 'string' },
  deliver: { type: 'boolean' },
} as const;

/** How long a verdict waits for a hub whose answer it could do without; milliseconds. */
const patience = 2000;
/** After an attempt the hub is not waited for again so soon; milliseconds. */
const restAfterTry = 60_000;

const told = (text: string): void => void process.stderr.write(`reeve-agent gate: ${text}\n`);

export const gateCommand: Command = {
  help,
  async run(args) {
    const { values } = parseOptions(args, options);
    const format = formats[values.format ?? 'generic'];
    if (!format || !Object.hasOwn(formats, values.format ?? 'generic')) {
      throw new UsageError(`--format takes ${Object.keys(formats).join(', ')}`);
    }
    const maxAge = Number(values['max-age'] ?? 300);
    if (!Number.isFinite(maxAge) || maxAge < 0) throw new UsageError('--max-age takes seconds');
    const onError = values['on-error'] ?? 'deny';
    if (onError !== 'deny' && onError !== 'allow') throw new UsageError('--on-error takes deny or allow');
    const plan = await planConnection(values);
    const state = new GateState(plan.state, plan.scope);
    if (values.deliver) {
      if (plan.hub) await (await import('./gate/refresh.ts')).deliver(plan, plan.hub, state);
      return 0;
    }
    const verdict = await verdictOn(format, plan, state, maxAge * 1000).catch((failure: unknown): Verdict => {
      const reason = `The call could not be judged: ${failure instanceof Error ? failure.message : String(failure)}`;
      if (onError === 'allow') told(reason);
      return { verdict: onError, contract: null, reason };
    });
    if (!verdict) return 0;
    const { code, stdout, stderr } = format.write(verdict);
    if (stdout) process.stdout.write(`${JSON.stringify(stdout)}\n`);
    if (stderr !== '') process.stderr.write(`${stderr}\n`);
    await deliverBehind(plan, state, args);
    return code;
  },
};

/** Null: the assistant told of something else than a tool to come. @throws Error when the call cannot be judged */
async function verdictOn(
  format: HookFormat,
  plan: ConnectionPlan,
  state: GateState,
  maxAge: number,
): Promise<Verdict | null> {
  const input = readInput(format, await standardInput());
  if (!input) return null;
  state.make();
  const { hub } = plan;
  return judge(input, {
    plan,
    state,
    contracts: await contractsOf(plan, state, maxAge),
    asks: format.asks,
    hubApprovals: async () => (hub ? (await import('./gate/ask.ts')).hubApprovals(hub) : null),
    told,
  });
}

/** Bytes of a call. */
const maxInput = 16 * 1024 * 1024;

/** Read without a stream, which would take longer to set up than to read. @throws Error when it is too long */
async function standardInput(): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for (;;) {
    const part = Buffer.allocUnsafe(65_536);
    let read: number;
    try {
      read = readSync(0, part);
    } catch (failure) {
      const { code } = failure as NodeJS.ErrnoException;
      if (code === 'EOF') break;
      if (code !== 'EAGAIN') throw failure;
      // Nothing there yet on an input that does not wait.
      await sleep(systemClock, 1);
      continue;
    }
    if (read === 0) break;
    size += read;
    if (size > maxInput) throw new Error(`the input is larger than ${maxInput} bytes`);
    parts.push(part.subarray(0, read));
  }
  return Buffer.concat(parts).toString('utf8');
}

async function contractsOf(plan: ConnectionPlan, state: GateState, maxAge: number): Promise<KeptContracts> {
  const kept = state.contracts();
  if (plan.contracts.length > 0) {
    if (kept && kept.sources === sourcesOf(plan.contracts)) return kept;
    return (await import('./gate/refresh.ts')).readContracts(plan, state);
  }
  if (!plan.hub) throw new Error('there is neither a hub nor a file of contracts');
  const now = systemClock.now();
  const { hub } = plan;
  const fetched = async () => (await import('./gate/refresh.ts')).fetchContracts(plan, hub, state);
  if (!kept) return fetched();
  const age = now - (state.time('checked') ?? 0);
  const tried = now - (state.time('tried') ?? 0);
  if (age <= maxAge || tried <= restAfterTry) return kept;
  const late = new Promise<KeptContracts>((resolve) => systemClock.after(patience, () => resolve(kept)));
  return Promise.race([fetched(), late]);
}

/** Starts a process that outlives this one, unless one is at work. */
async function deliverBehind(plan: ConnectionPlan, state: GateState, args: readonly string[]): Promise<void> {
  if (!plan.hub || state.isLocked(systemClock.now())) return;
  const { spawn } = await import('node:child_process');
  const [, program = ''] = process.argv;
  const own = [...process.execArgv, program, 'gate', ...args, '--deliver'];
  const child = spawn(process.execPath, own, { detached: true, stdio: 'ignore', windowsHide: true });
  child.once('error', () => {});
  child.unref();
}
