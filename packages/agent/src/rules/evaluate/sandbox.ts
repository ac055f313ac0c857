// Sandbox rules: paths, then the command, then domains; the first breach decides (rule language §1.10).

import type { SandboxRule } from '../bundle/rule.ts';
import { spend } from '../regex/regex.ts';
import type { Predicate } from './condition.ts';
import { compileGlob } from './glob.ts';
import { fault, no, type Outcome, yes } from './operator.ts';
import { argumentTexts, type Canonical, candidatePaths, lexicalPath, liesWithin } from './path.ts';
import { chainsCommands, isRedirect, shellWords } from './shell.ts';

/** Compiles a sandbox: yes means the call leaves it. */
export function compileSandbox(rule: SandboxRule, canonical: Canonical = lexicalPath): Predicate {
  const checks: Predicate[] = [];
  if (rule.within) checks.push(leavesPaths(rule.within, rule.notWithin, canonical));
  checks.push(leavesCommands(rule.commands));
  if (rule.domains || rule.notDomains.length > 0) checks.push(leavesDomains(rule.domains, rule.notDomains));
  return (view) => {
    for (const check of checks) {
      const outcome = check(view);
      if (outcome !== no) return outcome;
    }
    return no;
  };
}

function leavesPaths(
  within: readonly string[],
  notWithin: readonly string[],
  canonical: Canonical,
): Predicate {
  const resolve = (boundaries: readonly string[]) => boundaries.map((boundary) => canonical(boundary));
  // A client's canonical form may follow links, which change; text alone does not.
  const fixed = canonical === lexicalPath ? { inside: resolve(within), outside: resolve(notWithin) } : null;
  return ({ call, budget }) => {
    const candidates = candidatePaths(call, budget);
    if (candidates.length === 0) return no;
    const { inside, outside } = fixed ?? { inside: resolve(within), outside: resolve(notWithin) };
    for (const candidate of candidates) {
      spend(budget, 4 + (candidate.length >> 4) + inside.length + outside.length);
      const path = canonical(candidate);
      if (outside.some((boundary) => liesWithin(path, boundary))) return yes;
      if (!inside.some((boundary) => liesWithin(path, boundary))) return yes;
    }
    return no;
  };
}

function leavesCommands(commands: readonly string[] | null): Predicate {
  const allowed = commands && new Set(commands);
  return ({ call, budget }): Outcome => {
    const command: unknown = Object.hasOwn(call.args, 'command') ? call.args.command : undefined;
    if (command === undefined || command === null) return no;
    if (typeof command !== 'string') return allowed ? fault : no;
    spend(budget, command.length >> 2);
    if (chainsCommands(command)) return yes;
    const first = shellWords(command)[0];
    if (first !== undefined && isRedirect(first)) return yes;
    return allowed && (first === undefined || !allowed.has(first)) ? yes : no;
  };
}

function leavesDomains(domains: readonly string[] | null, notDomains: readonly string[]): Predicate {
  const allowed = domains?.map((glob) => compileGlob(glob.toLowerCase()));
  const denied = notDomains.map((glob) => compileGlob(glob.toLowerCase()));
  return (view): Outcome => {
    for (const { text } of argumentTexts(view.call, view.budget)) {
      if (!text.includes('://')) continue;
      spend(view.budget, text.length >> 2);
      for (const host of hostsIn(text)) {
        spend(view.budget, (denied.length + (allowed?.length ?? 0)) * (1 + (host.length >> 2)));
        if (denied.some((matches) => matches(host))) return yes;
        if (allowed && !allowed.some((matches) => matches(host))) return yes;
      }
    }
    return no;
  };
}

/** Host names of the URLs among the words of a text, in lower case, without a trailing dot; "" for what no parser accepts. */
function* hostsIn(text: string): Iterable<string> {
  for (const word of text.split(/[\s"'<>`]+/)) {
    const at = word.indexOf('://');
    if (at < 0) continue;
    let from = at;
    while (from > 0 && /[a-zA-Z0-9+.-]/.test(word[from - 1] as string)) from--;
    if (from === at) continue;
    let host = '';
    try {
      const { protocol, hostname } = new URL(word.slice(from));
      // A file URL without a host names a path, which is judged as one.
      if (protocol === 'file:' && hostname === '') continue;
      host = hostname.toLowerCase().replace(/\.$/, '');
    } catch {
      host = '';
    }
    yield host;
  }
}
