// Words of a megabyte, per commit of a quarter: a call is judged in time that grows with its length, whatever stands in
// its words. A pattern that reads the rest of a word again for each of its characters takes minutes for a megabyte, and
// so a sixteenth of that for a quarter.
import { expect, it } from 'vitest';
import { rowsOfCommit, runsOf } from '../../../../../test/runs.ts';
import { cpuMs } from '../../cpu.ts';
import { leaves } from './sandboxes.ts';

const length = runsOf(1_000_000, 250_000);
/**
 * The bound of one judgement, in milliseconds of processor time. Most take a tenth of a second, and twenty times that
 * in a process whose heap is full.
 */
const maxMs = 4_000;
const long = (part: string): string => part.repeat(length / part.length);
const boxes = [
  'within: [/w]',
  'allows: {domains: [allowed.com]}',
  'allows: {commands: [curl, git, env, npx, x]}',
];

const words: readonly (readonly [name: string, command: string])[] = [
  ['open brackets', `x ${long('[')}`],
  ['open brackets before a closed one', `x ${long('[')}]${long('[')}`],
  ['braces behind a colon, and a blank', `curl ":${long('{')} /"`],
  ['names of settings of git', `x ${long('GIT_CONFIG_')}`],
  ['variables of commands', `x ${long('_COMMAND1')}`],
  ['letters of env with values', `env -a${long('S=')}`],
  ['letters of npx with values', `npx -a${long('c=')}`],
  ['dots without a colon', `git fetch origin ${long('.')}`],
  ['dots before a branch', `git fetch origin ${long('.')}:refs/heads/x`],
  ['brackets of subscripts', `x ${long('a[')}`],
  ['subscripts behind an equals sign', `x a=${long('[$')}`],
  ['slashes', `x ${long('/')}`],
  ['names of tar', `x ${long('tar')}`],
  ['schemes', `x ${long('a.')}://`],
  ['schemes without slashes', `x "${long('https:!')}"`],
  ['marks behind a scheme', `x "https:${long('!')}"`],
  ['dots behind a scheme', `x "https://${long('.')}"`],
  ['dashes', `x ${long('-a')}`],
  ['options with values', `x ${long('-a=')}`],
  ['addresses', `x ${long('a@')}`],
  ['escapes', `x ${long('%25')}`],
  ['continued lines', `x ${long('\\\n')}`],
  ['escaped quotes', `x "${long('\\"')}`],
  ['quotes', `x ${long("'")}a'`],
  ['blanks', `x${long(' ')}\n`],
  ['redirections', `x ${long('>')}`],
  ['a redirection far from its file', `x >${long(' ')}/dev/nul`],
];

it.each(rowsOfCommit(words, 13).rows)('%s', { timeout: 600_000 }, (_name, command) => {
  for (const box of boxes) {
    const judge = () => leaves(box, { command });
    expect(cpuMs(judge)).toBeLessThan(maxMs);
  }
});
