// Compiles a sandbox contract to one question about a call: does it leave? docs/rule-language.md says what is judged
// and what is not.
import type { SandboxRule } from '../bundle/rule.ts';
import type { View } from '../evaluate/call.ts';
import type { Predicate } from '../evaluate/condition.ts';
import { fault, no, yes } from '../evaluate/operator.ts';
import type { EngineOptions } from '../evaluate/options.ts';
import { spend } from '../regex/regex.ts';
import { Naming } from './arguments.ts';
import { Boundaries } from './boundaries.ts';
import { commandLeaves } from './command.ts';
import { compileDeclarations } from './names.ts';
import { isFileUrl } from './path.ts';
import { hostTest } from './url.ts';

/** Compiles sandboxes that share one reading of each call. A predicate's yes means the call leaves. */
export function sandboxCompiler(options: EngineOptions): (rule: SandboxRule) => Predicate {
  const { files } = options;
  const declarations = compileDeclarations(options.toolArguments);
  const namings = new WeakMap<View, Naming>();
  return (rule) => {
    const commands = rule.commands && new Set(rule.commands);
    const refusesHosts = hostTest(rule.domains, rule.notDomains);
    const isForEveryTool = rule.tools.every((tool) => tool === '*');
    return (view) => {
      const { budget, call } = view;
      const naming = namings.get(view) ?? new Naming(call, declarations(call.tool), budget);
      namings.set(view, naming);
      if (naming.tooMuch) return yes;
      if (commands && naming.oddCommand) return fault;
      const { folders, paths, urls, texts } = naming;
      const boundaries = rule.within && new Boundaries(rule.within, rule.notWithin, files);
      const canonical = (folder: string, cwd: string) => boundaries?.canonical(folder, cwd) ?? folder;
      const start = canonical(call.cwd ?? files?.cwd ?? rule.within?.[0] ?? '/', '/');
      // An argument that nobody declared may name the folder of a command, or mean nothing to the tool.
      const undeclared = folders.some(({ isDeclared }) => isDeclared) ? [] : [start];
      const cwds = [...new Set([...undeclared, ...folders.map(({ path }) => canonical(path, start))])];
      const rules = { budget, commands, boundaries, refusesHosts, cwds, options };
      const places = paths.length + folders.length;
      // Commands work in the call's folder; a call that names no path may do so, too.
      const isInFolder = naming.commands.length > 0 || (files?.judgesFolder === true && places === 0);
      const leaves = (path: string, from: readonly string[]): boolean => {
        spend(budget, from.length * (8 + (path.length >> 2)));
        return boundaries?.leaves(path, from) === true;
      };
      // No host is missing in a `file:` URL that is judged as a path.
      const kindOf = (url: string) => (boundaries !== null && isFileUrl(url.trim()) ? 'word' : 'host');
      const isOutside =
        (isInFolder && !!call.cwd && leaves(call.cwd, [start])) ||
        folders.some(({ path }) => leaves(path, [start])) ||
        paths.some((path) => leaves(path, cwds)) ||
        naming.commands.some((command) => commandLeaves(rules, command)) ||
        (commands !== null && !isForEveryTool && naming.commands.length + places + urls.length === 0) ||
        urls.some((url) => refusesHosts(url, kindOf(url), budget)) ||
        texts.some((text) => refusesHosts(text, 'word', budget));
      return isOutside ? yes : no;
    };
  };
}
