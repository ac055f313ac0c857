// `reeve-agent gate`: a verdict for a coding assistant that calls a hook before each of its tools. Everything it does
// not need for the verdict is loaded later or runs in a process of its own, because the assistant waits.
import { readSync } from 'node:fs';
import { sleep, systemClock } from '../clock.ts';
import { processVariables } from '../environment.ts';
import { type Command, parseOptions, UsageError } from './command.ts';
import { type ConnectionPlan, connectionHelp, connectionOptions, planConnection } from './connection.ts';
import { formats, type HookFormat, type HookInput, readInput, type Verdict } from './gate/formats.ts';
import { judge } from './gate/judge.ts';
import { projectsOf } from './gate/project.ts';
import { GateState, type KeptContracts, sourcesOf } from './gate/state.ts';

const help = `Usage: reeve-agent gate [options] < CALL

Judges a tool call that a coding assistant is about to make. The call is JSON on standard input. The verdict is on
standard output in the assistant's format, and in the exit code: 0 allowed, 2 denied (with the reason on standard
error). For an allowed call, the command prints nothing to assistants, so their own permissions still apply.

Options:
  --format FORMAT      ${Object.keys(formats).join(', ')}.
                       Default: generic, which accepts {"tool": "…", "args": {…}, "cwd": "…", "session": "…"} and
                       prints {"verdict": "…", "contract": "…", "reason": "…"}
  --project DIR        project folder for \`within\` and \`not_within\`; can be repeated. Default: the folder that the
                       assistant names, else the folder of the hook. The folder of a call never counts
  --max-age SECONDS    maximum age of the last check with the hub, which a later call repeats; default: 300
  --unknown ACT        verdict on a tool that neither the format nor --tools declares: judge (default) as itself,
                       with a warning, or deny
  --on-error VERDICT   verdict on a call that cannot be judged: deny (default) or allow
${connectionHelp}
Contracts come from the state folder, which contains the last good document. Only three verdicts wait for the hub: the
first one, one after --max-age, and one that a person must approve. A background process updates the document and
delivers events.
`;

const options = {
  ...connectionOptions,
  format: { type: 'string' },
  'max-age': { type: 'string' },
  'on-error': { type: 'string' },
  unknown: { type: 'string' },
  project: { type: 'string', multiple: true },
  deliver: { type: 'boolean' },
} as const;

/** Time that a verdict waits for a hub whose answer is dispensable; milliseconds. */
const patience = 2000;
/** After an attempt the hub is not waited for again so soon; milliseconds. */
const restAfterTry = 60_000;

const say = (text: string): void => void process.stderr.write(`reeve-agent gate: ${text}\n`);

export const gateCommand: Command = {
  help,
  async run(args) {
    const { values } = parseOptions(args, options);
    const format = formats[values.format ?? 'generic'];
    if (!format || !Object.hasOwn(formats, values.format ?? 'generic')) {
      throw new UsageError(`--format must be one of ${Object.keys(formats).join(', ')}`);
    }
    const maxAge = Number(values['max-age'] ?? 300);
    if (!Number.isFinite(maxAge) || maxAge < 0) throw new UsageError('--max-age must be a number of seconds');
    const onError = values['on-error'] ?? 'deny';
    if (onError !== 'deny' && onError !== 'allow') throw new UsageError('--on-error must be deny or allow');
    const { project = [], unknown = 'judge' } = values;
    if (unknown !== 'judge' && unknown !== 'deny') throw new UsageError('--unknown must be judge or deny');
    if (project.includes('')) throw new UsageError('--project must be a folder');
    const plan = await planConnection(values);
    const state = new GateState(plan.state, plan.scope);
    if (values.deliver) {
      if (plan.hub) await (await import('./gate/refresh.ts')).deliver(plan, plan.hub, state);
      return 0;
    }
    let input: HookInput | null = null;
    let verdict: Verdict;
    try {
      input = readInput(format, await standardInput());
      if (!input) return 0;
      verdict = await verdictOn(input, format, { plan, state, project, unknown, maxAge: maxAge * 1000 });
    } catch (failure) {
      const reason = `The call could not be judged: ${failure instanceof Error ? failure.message : String(failure)}`;
      if (onError === 'allow') say(reason);
      verdict = { verdict: onError, contract: null, reason };
    }
    const { code, stdout, stderr } = format.write(verdict, input ?? {});
    if (stdout) process.stdout.write(`${JSON.stringify(stdout)}\n`);
    if (stderr !== '') process.stderr.write(`${stderr}\n`);
    await deliverBehind(plan, state, args);
    return code;
  },
};

/** Inputs of a verdict beside the call. */
interface VerdictContext {
  readonly plan: ConnectionPlan;
  readonly state: GateState;
  /** Folders of `--project`. */
  readonly project: readonly string[];
  readonly unknown: 'judge' | 'deny';
  /** Milliseconds. */
  readonly maxAge: number;
}

/** @throws Error when the call cannot be judged */
async function verdictOn(
  input: HookInput,
  format: HookFormat,
  { plan, state, project, unknown, maxAge }: VerdictContext,
): Promise<Verdict> {
  state.make();
  const { hub } = plan;
  return judge(input, {
    plan,
    state,
    contracts: await contractsOf(plan, state, maxAge),
    projects: projectsOf(project, input, format, processVariables, process.cwd()),
    asks: input.asks ?? format.asks,
    unknown,
    warnsOfUnknown: format !== formats.generic,
    hubApprovals: async () => (hub ? (await import('./gate/ask.ts')).hubApprovals(hub) : null),
    log: say,
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
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(parts));
  } catch {
    throw new Error('the input is not UTF-8 text');
  }
}

async function contractsOf(plan: ConnectionPlan, state: GateState, maxAge: number): Promise<KeptContracts> {
  const kept = state.contracts();
  if (plan.contracts.length > 0) {
    if (kept && kept.sources === sourcesOf(plan.contracts)) return kept;
    return (await import('./gate/refresh.ts')).readContracts(plan, state);
  }
  if (!plan.hub) throw new Error('neither a hub nor a file of contracts is configured');
  const now = systemClock.now();
  const { hub } = plan;
  const fetched = async (signal?: AbortSignal) =>
    (await import('./gate/refresh.ts')).fetchContracts(plan, hub, state, signal);
  if (!kept) return fetched();
  if (state.isRecent('checked', now, maxAge) || state.isRecent('tried', now, restAfterTry)) return kept;
  // The assistant waits for the end of the process, so the request ends too.
  const tooLate = new AbortController();
  const late = new Promise<KeptContracts>((resolve) => {
    systemClock.after(patience, () => {
      resolve(kept);
      tooLate.abort(new Error('the hub does not answer in time'));
    });
  });
  return Promise.race([fetched(tooLate.signal), late]);
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
