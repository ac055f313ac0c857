// Compiles a sandbox contract to one question about a call: does it leave? docs/rule-language.md says what is judged
// and what is not.
import type { SandboxRule } from '../../../../src/rules/bundle/rule.ts';
import type { View } from '../../../../src/rules/evaluate/call.ts';
import type { Predicate } from '../../../../src/rules/evaluate/condition.ts';
import { compileGlob } from '../../../../src/rules/evaluate/glob.ts';
import { fault, no, type OperatorResult, yes } from '../../../../src/rules/evaluate/operator.ts';
import { type Budget, spend } from '../../../../src/rules/regex/regex.ts';
import { type Naming, readArguments } from './arguments.ts';
import { Boundaries } from './boundaries.ts';
import { type CommandRules, commandLeaves } from './command.ts';
import { compileDeclarations, type ToolArguments } from './names.ts';
import type { Files } from './path.ts';
import { hostsInText, hostsOfUrl, isFileUrl, workOfHosts } from './url.ts';

export interface SandboxOptions {
  /** Facts about files; null: paths are judged by text alone. */
  readonly files: Files | null;
  readonly toolArguments: ToolArguments;
  /** Commands are run by a shell whose quotes are not those of POSIX. */
  readonly windows: boolean;
}

/** Compiles sandboxes that share one reading of each call. */
export function sandboxCompiler(options: SandboxOptions): (rule: SandboxRule) => Predicate {
  const declarations = compileDeclarations(options.toolArguments);
  const namings = new WeakMap<View, Naming>();
  const namingOf = (view: View): Naming => {
    let naming = namings.get(view);
    if (!naming) {
      naming = readArguments(view.call, declarations(view.call.tool), view.budget);
      namings.set(view, naming);
    }
    return naming;
  };
  return (rule) => compileSandbox(rule, namingOf, options);
}

/** Yes means the call leaves the sandbox. */
function compileSandbox(
  rule: SandboxRule,
  namingOf: (view: View) => Naming,
  { files, windows }: SandboxOptions,
): Predicate {
  const commands = rule.commands && new Set(rule.commands);
  const refusesHost = compileHosts(rule.domains, rule.notDomains);
  const boundariesOf = () => (rule.within ? new Boundaries(rule.within, rule.notWithin, files) : null);
  // Links change; text alone does not.
  const fixed = files === null ? boundariesOf() : null;
  const everyTool = rule.tools.every((tool) => tool === '*');
  return (view): OperatorResult => {
    const { budget, call } = view;
    const naming = namingOf(view);
    if (naming.tooMuch) return yes;
    if (commands && naming.oddCommand) return fault;
    const boundaries = fixed ?? boundariesOf();
    const start = call.cwd ?? files?.cwd ?? rule.within?.[0] ?? '/';
    const cwds = foldersOf(naming, boundaries, start);
    if (boundaries && pathsLeave(naming, boundaries, start, cwds, budget)) return yes;
    // Commands work in the call's folder; a call that names no path may do so, too.
    const isInFolder =
      naming.commands.length > 0 || (files?.judgesFolder === true && naming.paths.length === 0);
    if (boundaries && call.cwd && isInFolder && boundaries.leaves(call.cwd, start)) return yes;
    const rules: CommandRules = {
      commands,
      boundaries,
      refusesHost: refusesHost && ((host) => refusesHost(host, budget)),
      cwds,
      windows,
    };
    if (naming.commands.some((command) => commandLeaves(rules, command, budget))) return yes;
    const unknown = naming.commands.length + naming.paths.length + naming.urls.length === 0;
    if (commands && unknown && !everyTool) return yes;
    return refusesHost && hostsLeave(naming, refusesHost, boundaries !== null, budget) ? yes : no;
  };
}

/** The folders a command may run in. An argument that nobody declared may name one, or mean nothing to the tool. */
function foldersOf(naming: Naming, boundaries: Boundaries | null, start: string): readonly string[] {
  if (!boundaries || naming.folders.length === 0) return [start];
  const named = naming.folders.map((folder) => boundaries.canonical(folder, start));
  return naming.foldersDeclared ? named : [start, ...named];
}

function pathsLeave(
  { paths, folders }: Naming,
  boundaries: Boundaries,
  start: string,
  cwds: readonly string[],
  budget: Budget,
): boolean {
  for (const path of paths) {
    spend(budget, 8 + (path.length >> 2));
    const from = folders.includes(path) ? [start] : cwds;
    if (from.some((cwd) => boundaries.leaves(path, cwd))) return true;
  }
  return false;
}

/** @param pathsJudged `file:` URLs were judged as paths: no host is missing in them */
function hostsLeave(
  { urls, texts }: Naming,
  refuses: (host: string, budget: Budget) => boolean,
  pathsJudged: boolean,
  budget: Budget,
): boolean {
  for (const text of urls) {
    spend(budget, workOfHosts(text));
    const hosts = pathsJudged && isFileUrl(text.trim()) ? hostsInText(text) : hostsOfUrl(text);
    for (const host of hosts) if (refuses(host, budget)) return true;
  }
  for (const text of texts) {
    spend(budget, text.length >> 2);
    if (!text.includes(':')) continue;
    spend(budget, workOfHosts(text));
    for (const host of hostsInText(text)) if (refuses(host, budget)) return true;
  }
  return false;
}

/** True if a host is refused; null when the sandbox says nothing of hosts. */
function compileHosts(
  allowed: readonly string[] | null,
  denied: readonly string[],
): ((host: string, budget: Budget) => boolean) | null {
  if (!allowed && denied.length === 0) return null;
  const compile = (globs: readonly string[]) => globs.map((glob) => compileGlob(glob.toLowerCase()));
  const inside = allowed && compile(allowed);
  const outside = compile(denied);
  return (host, budget) => {
    spend(budget, (outside.length + (inside?.length ?? 0)) * (1 + (host.length >> 2)));
    return (
      outside.some((matches) => matches(host)) ||
      (inside !== null && !inside.some((matches) => matches(host)))
    );
  };
}
