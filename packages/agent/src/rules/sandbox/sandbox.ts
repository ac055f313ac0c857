// Compiles a sandbox contract to one question about a call: does it leave? docs/rule-language.md says what is judged
// and what is not.
import type { SandboxRule } from '../bundle/rule.ts';
import type { View } from '../evaluate/call.ts';
import type { Predicate } from '../evaluate/condition.ts';
import { compileHostGlobs } from '../evaluate/glob.ts';
import { fault, no, yes } from '../evaluate/operator.ts';
import { type Budget, spend } from '../regex/regex.ts';
import { Naming } from './arguments.ts';
import { Boundaries } from './boundaries.ts';
import { type CommandRules, commandLeaves } from './command.ts';
import { compileDeclarations, type ToolArguments } from './names.ts';
import type { Files } from './path.ts';
import { profileOf } from './profiles/index.ts';
import type { CommandProfiles } from './profiles/profile.ts';
import { hostsInText, hostsOfUrl, isFileUrl, workOfHosts } from './url.ts';

export interface SandboxOptions {
  /** What is known about files; null: paths are judged by text alone. */
  readonly files: Files | null;
  readonly toolArguments: ToolArguments;
  /** Profiles of programs beside the built-in ones, or instead of them. */
  readonly commandProfiles?: CommandProfiles;
  /** Commands are run by a shell whose quotes are not those of POSIX. */
  readonly windows: boolean;
}

/** Compiles sandboxes that share one reading of each call. */
export function sandboxCompiler(options: SandboxOptions): (rule: SandboxRule) => Predicate {
  const declarations = compileDeclarations(options.toolArguments);
  const namings = new WeakMap<View, Naming>();
  const namingOf = (view: View): Naming => {
    const naming = namings.get(view) ?? new Naming(view.call, declarations(view.call.tool), view.budget);
    namings.set(view, naming);
    return naming;
  };
  return (rule) => compileSandbox(rule, namingOf, options);
}

/** Yes means the call leaves the sandbox. */
function compileSandbox(
  rule: SandboxRule,
  namingOf: (view: View) => Naming,
  { files, windows, commandProfiles = {} }: SandboxOptions,
): Predicate {
  const commands = rule.commands && new Set(rule.commands);
  const hostTest = compileHosts(rule.domains, rule.notDomains);
  const boundariesOf = () => (rule.within ? new Boundaries(rule.within, rule.notWithin, files) : null);
  // Links change; text alone does not.
  const fixed = files === null ? boundariesOf() : null;
  const isForEveryTool = rule.tools.every((tool) => tool === '*');
  return (view) => {
    const { budget, call } = view;
    const naming = namingOf(view);
    if (naming.tooMuch) return yes;
    if (commands && naming.oddCommand) return fault;
    const boundaries = fixed ?? boundariesOf();
    const start = call.cwd ?? files?.cwd ?? rule.within?.[0] ?? '/';
    const cwds = foldersOf(naming, boundaries, start);
    const isNothingNamed = naming.commands.length + naming.paths.length + naming.urls.length === 0;
    // Commands work in the call's folder; a call that names no path may do so, too.
    const isInFolder =
      naming.commands.length > 0 || (files?.judgesFolder === true && naming.paths.length === 0);
    const refusesHost = hostTest && ((host: string) => hostTest(host, budget));
    const profile = (name: string) => profileOf(name, commandProfiles);
    const rules: CommandRules = {
      budget,
      commands,
      boundaries,
      refusesHost,
      cwds,
      windows,
      profileOf: profile,
    };
    const isOutside =
      (boundaries !== null && pathsLeave(naming, boundaries, start, cwds, budget)) ||
      (boundaries !== null && isInFolder && call.cwd && boundaries.leaves(call.cwd, start)) ||
      naming.commands.some((command) => commandLeaves(rules, command)) ||
      (commands !== null && isNothingNamed && !isForEveryTool) ||
      (refusesHost !== null && hostsOf(naming, boundaries !== null, budget).some(refusesHost));
    return isOutside ? yes : no;
  };
}

/** The folders a command may run in. An argument that nobody declared may name one, or mean nothing to the tool. */
function foldersOf(naming: Naming, boundaries: Boundaries | null, start: string): readonly string[] {
  if (!boundaries || naming.folders.length === 0) return [start];
  const folders = naming.folders.map((folder) => boundaries.canonical(folder, start));
  return naming.foldersDeclared ? folders : [start, ...folders];
}

const pathsLeave = (
  { paths, folders }: Naming,
  boundaries: Boundaries,
  start: string,
  cwds: readonly string[],
  budget: Budget,
): boolean =>
  paths.some((path) => {
    spend(budget, 8 + (path.length >> 2));
    return (folders.includes(path) ? [start] : cwds).some((cwd) => boundaries.leaves(path, cwd));
  });

/** @param pathsJudged `file:` URLs were judged as paths: no host is missing in them */
function hostsOf({ urls, texts }: Naming, pathsJudged: boolean, budget: Budget): readonly string[] {
  for (const text of [...urls, ...texts]) spend(budget, workOfHosts(text));
  const isPath = (text: string): boolean => pathsJudged && isFileUrl(text.trim());
  return [
    ...urls.flatMap((text) => [...(isPath(text) ? hostsInText(text) : hostsOfUrl(text))]),
    ...texts.flatMap((text) => [...hostsInText(text)]),
  ];
}

/** True if a host is refused; null if the sandbox has no list of hosts. */
function compileHosts(
  allowed: readonly string[] | null,
  denied: readonly string[],
): ((host: string, budget: Budget) => boolean) | null {
  if (!allowed && denied.length === 0) return null;
  const inside = allowed ?? ['*'];
  const [isInside, isOutside] = [compileHostGlobs(inside), compileHostGlobs(denied)];
  return (host, budget) => {
    spend(budget, (denied.length + inside.length) * (1 + (host.length >> 2)));
    // The empty host stands for a text that is no canonical URL.
    return host === '' || isOutside(host) || !isInside(host);
  };
}
