#!/usr/bin/env node
// The program `reeve`: finds the command that its first word names. Without a word it is the hub.
import { say, UsageError, wordsOf } from './hub/commands/output.ts';

type Command = (args: readonly string[]) => Promise<void>;

const ofAgents = (word: string) => async () => (await import('./hub/commands/agent.ts')).handOn(word);

/** Loaded when they are called for: a back-up needs none of what the hub needs. */
const commands: { readonly [word: string]: () => Promise<Command> } = {
  serve: async () => (await import('./hub/commands/serve.ts')).serve,
  backup: async () => (await import('./hub/commands/backup.ts')).backup,
  'login-link': async () => (await import('./hub/commands/login-link.ts')).loginLink,
  restore: async () => (await import('./hub/commands/restore.ts')).restore,
  check: ofAgents('check'),
  test: ofAgents('test'),
  verify: ofAgents('verify'),
  gate: ofAgents('gate'),
  mcp: ofAgents('mcp'),
};

async function run(args: readonly string[]): Promise<void> {
  const [word = 'serve', ...rest] = args[0]?.startsWith('-') ? ['serve', ...args] : args;
  const load = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (!load) throw new UsageError(`Unknown command ${word}. See --help.`);
  await (await load())(rest);
}

run(process.argv.slice(2)).catch((error: unknown) => {
  say(wordsOf(error));
  process.exit(error instanceof UsageError ? 2 : 1);
});
