// Words of a megabyte, per commit of a quarter: a call is judged in time that grows with its length, whatever stands in
// its words. A pattern that reads the rest of a word again for each of its characters takes minutes for a megabyte, and
// so a sixteenth of that for a quarter.
import { expect, it } from 'vitest';
import { rowsOfCommit, runsOf } from '../../../../../test/runs.ts';
import { growth, maxGrowth } from '../../cpu.ts';
import { leaves } from './sandboxes.ts';

const length = runsOf(1_000_000, 250_000);
const boxes = [
  'within: [/w]',
  'allows: {domains: [allowed.com]}',
  'allows: {commands: [curl, git, env, npx, x]}',
];

const words: readonly (readonly [name: string, command: (long: (part: string) => string) => string])[] = [
  ['open brackets', (long) => `x ${long('[')}`],
  ['open brackets before a closed one', (long) => `x ${long('[')}]${long('[')}`],
  ['braces behind a colon, and a blank', (long) => `curl ":${long('{')} /"`],
  ['names of settings of git', (long) => `x ${long('GIT_CONFIG_')}`],
  ['variables of commands', (long) => `x ${long('_COMMAND1')}`],
  ['letters of env with values', (long) => `env -a${long('S=')}`],
  ['letters of npx with values', (long) => `npx -a${long('c=')}`],
  ['dots without a colon', (long) => `git fetch origin ${long('.')}`],
  ['dots before a branch', (long) => `git fetch origin ${long('.')}:refs/heads/x`],
  ['brackets of subscripts', (long) => `x ${long('a[')}`],
  ['subscripts behind an equals sign', (long) => `x a=${long('[$')}`],
  ['imports of jq', (long) => `jq ${long('import#')}`],
  ['loads of yq', (long) => `yq ${long('load')}`],
  ['addresses behind addresses', (long) => `scp a ${long('a@')}b:`],
  ['names with versions', (long) => `x ${long('a1')}`],
  ['slashes', (long) => `x ${long('/')}`],
  ['names of tar', (long) => `x ${long('tar')}`],
  ['schemes', (long) => `x ${long('a.')}://`],
  ['schemes without slashes', (long) => `x "${long('https:!')}"`],
  ['marks behind a scheme', (long) => `x "https:${long('!')}"`],
  ['dots behind a scheme', (long) => `x "https://${long('.')}"`],
  ['dashes', (long) => `x ${long('-a')}`],
  ['options with values', (long) => `x ${long('-a=')}`],
  ['addresses', (long) => `x ${long('a@')}`],
  ['escapes', (long) => `x ${long('%25')}`],
  ['continued lines', (long) => `x ${long('\\\n')}`],
  ['escaped quotes', (long) => `x "${long('\\"')}`],
  ['quotes', (long) => `x ${long("'")}a'`],
  ['blanks', (long) => `x${long(' ')}\n`],
  ['redirections', (long) => `x ${long('>')}`],
  ['a redirection far from its file', (long) => `x >${long(' ')}/dev/nul`],
];

it.each(rowsOfCommit(words, 13).rows)('%s', { timeout: 600_000 }, (_name, commandOf) => {
  for (const box of boxes) {
    const judge = (n: number) => {
      const command = commandOf((part) => part.repeat(n / part.length));
      leaves(box, { command });
    };
    expect(growth(judge, length / 4)).toBeLessThan(maxGrowth);
  }
});
