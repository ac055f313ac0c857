#!/usr/bin/env node
// The program `reeve`: finds the command that its first word names. Without a word it is the hub.
import { runCommand, UsageError } from './hub/commands/output.ts';

type Command = (args: readonly string[]) => Promise<void>;

const agentCommands: ReadonlySet<string> = new Set(['check', 'test', 'verify', 'gate', 'mcp']);

const ofAgents = (word: string) => async () => (await import('./hub/commands/agent.ts')).handOn(word);

/** Loaded when they are called for: a back-up needs none of what the hub needs. */
const commands: { readonly [word: string]: () => Promise<Command> } = {
  serve: async () => (await import('./hub/commands/serve.ts')).serve,
  backup: async () => (await import('./hub/commands/backup.ts')).backup,
  apply: async () => (await import('./hub/commands/as-code.ts')).apply,
  diff: async () => (await import('./hub/commands/as-code.ts')).diff,
  export: async () => (await import('./hub/commands/as-code.ts')).exportFolder,
  'export-events': async () => (await import('./hub/commands/export-events.ts')).exportEvents,
  config: async () => (await import('./hub/commands/config.ts')).config,
  doctor: async () => (await import('./hub/commands/doctor.ts')).doctor,
  'login-link': async () => (await import('./hub/commands/login-link.ts')).loginLink,
  move: async () => (await import('./hub/commands/move.ts')).move,
  tenant: async () => (await import('./hub/commands/tenant.ts')).tenant,
  restore: async () => (await import('./hub/commands/restore.ts')).restore,
  ...Object.fromEntries([...agentCommands].map((word) => [word, ofAgents(word)])),
};

/** Takes `--config FILE` out of a command line of the hub. The commands of the agent library keep their arguments. */
async function withoutConfigFile(args: readonly string[]): Promise<readonly string[]> {
  const at = args.findIndex((word) => word === '--config' || word.startsWith('--config='));
  if (at < 0) return args;
  const isOneWord = args[at] !== '--config';
  const path = isOneWord ? args[at]?.slice('--config='.length) : args[at + 1];
  if (path === undefined || path === '') throw new UsageError('--config needs a file. See --help.');
  (await import('./hub/config.ts')).setConfigFile(path);
  return args.toSpliced(at, isOneWord ? 1 : 2);
}

async function run(words: readonly string[]): Promise<void> {
  const args = agentCommands.has(words[0] ?? '') ? words : await withoutConfigFile(words);
  const [word = 'serve', ...rest] = args[0]?.startsWith('-') ? ['serve', ...args] : args;
  const load = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (!load) throw new UsageError(`Unknown command ${word}. See --help.`);
  await (await load())(rest);
}

void runCommand(() => run(process.argv.slice(2))).then((code) => {
  if (code !== undefined) process.exit(code);
});
