// Compiles a sandbox contract to one question about a call: does it leave? docs/rule-language.md says what is judged
// and what is not.
import type { SandboxRule } from '../bundle/rule.ts';
import type { View } from '../evaluate/call.ts';
import type { Predicate } from '../evaluate/condition.ts';
import { compileHostGlobs } from '../evaluate/glob.ts';
import { fault, no, yes } from '../evaluate/operator.ts';
import { spend } from '../regex/regex.ts';
import { Naming } from './arguments.ts';
import { Boundaries } from './boundaries.ts';
import { type CommandRules, commandLeaves } from './command.ts';
import { compileDeclarations, type ToolArguments } from './names.ts';
import { type Files, isFileUrl } from './path.ts';
import { profileOf } from './profiles/index.ts';
import type { CommandProfiles } from './profiles/profile.ts';
import { hostsOf } from './url.ts';

export interface SandboxOptions {
  /** The agent's files; null: paths are judged by text alone. */
  readonly files: Files | null;
  readonly toolArguments: ToolArguments;
  /** Profiles of programs beside the built-in ones, or instead of them. */
  readonly commandProfiles?: CommandProfiles;
  /** Commands are run by a shell whose quotes are not those of POSIX. */
  readonly windows: boolean;
}

/** Compiles sandboxes that share one reading of each call. A predicate's yes means the call leaves. */
export function sandboxCompiler(options: SandboxOptions): (rule: SandboxRule) => Predicate {
  const { files, windows, commandProfiles = {} } = options;
  const declarations = compileDeclarations(options.toolArguments);
  const namings = new WeakMap<View, Naming>();
  const namingOf = (view: View): Naming => {
    const naming = namings.get(view) ?? new Naming(view.call, declarations(view.call.tool), view.budget);
    namings.set(view, naming);
    return naming;
  };
  return (rule) => {
    const commands = rule.commands && new Set(rule.commands);
    const refusesHosts = compileHosts(rule);
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
      const isNothingNamed = naming.commands.length + naming.paths.length + naming.urls.length === 0;
      const profile = (name: string) => profileOf(name, commandProfiles);
      const cwds = foldersOf(naming, boundaries, start);
      const rules = { budget, commands, boundaries, refusesHosts, cwds, windows, profileOf: profile };
      // Commands work in the call's folder; a call that names no path may do so, too.
      const isInFolder =
        naming.commands.length > 0 || (files?.judgesFolder === true && naming.paths.length === 0);
      const folders = new Set(naming.folders);
      const ownFolders = isInFolder && call.cwd ? [call.cwd, ...folders] : [...folders];
      const otherPaths = naming.paths.filter((path) => !folders.has(path));
      const pathsLeave = (paths: readonly string[], starts: readonly string[]): boolean =>
        boundaries !== null &&
        paths.some((path) => {
          spend(budget, 8 + (path.length >> 2));
          return starts.some((cwd) => boundaries.leaves(path, cwd));
        });
      // No host is missing in a `file:` URL that is judged as a path.
      const isPath = (text: string): boolean => boundaries !== null && isFileUrl(text.trim());
      const isOutside =
        pathsLeave(ownFolders, [start]) ||
        pathsLeave(otherPaths, cwds) ||
        naming.commands.some((command) => commandLeaves(rules, command)) ||
        (commands !== null && isNothingNamed && !isForEveryTool) ||
        naming.urls.some((text) => refusesHosts?.(text, isPath(text) ? 'word' : 'host', budget)) ||
        naming.texts.some((text) => refusesHosts?.(text, 'word', budget));
      return isOutside ? yes : no;
    };
  };
}

/** The folders a command may run in. An argument that nobody declared may name one, or mean nothing to the tool. */
function foldersOf(naming: Naming, boundaries: Boundaries | null, start: string): readonly string[] {
  const folders = naming.folders.map((folder) => boundaries?.canonical(folder, start) ?? folder);
  return naming.foldersDeclared && folders.length > 0 ? folders : [start, ...folders];
}

/** A test whether a host that a text names is refused; null if the sandbox has no list of hosts. */
function compileHosts({ domains, notDomains }: SandboxRule): CommandRules['refusesHosts'] {
  if (!domains && notDomains.length === 0) return null;
  const [isInside, isOutside] = [compileHostGlobs(domains ?? ['*']), compileHostGlobs(notDomains)];
  const globs = notDomains.length + (domains?.length ?? 1);
  return (text, kind, budget) =>
    hostsOf(text, kind, budget).some((host) => {
      spend(budget, globs * (1 + (host.length >> 2)));
      // The empty host stands for a text that is no canonical URL.
      return host === '' || isOutside(host) || !isInside(host);
    });
}
