// Contracts that hold for a tool under several names: those of each name, in the order of the document.
import type { CompiledBundle, CompiledRule, ToolRules } from '../../rules/evaluate/compile.ts';
import type { Limit } from '../../rules/evaluate/limits.ts';

/**
 * The bundle with the rules and the smallest limit of all the names for one tool.
 * @param also other names whose contracts hold for it
 */
export function withAliases(bundle: CompiledBundle, tool: string, also: readonly string[]): CompiledBundle {
  if (also.length === 0) return bundle;
  const names = [tool, ...also];
  const rules = mergedRules(bundle, names);
  const { limits } = bundle;
  const ofTool = (name: string): Limit =>
    (name === tool ? names : [name]).map(limits.ofTool).reduce((a, b) => (b.max < a.max ? b : a));
  return {
    ...bundle,
    limits: {
      ...limits,
      ofTool,
      perTool: (name) => {
        const { max } = ofTool(name);
        return Number.isFinite(max) ? max : undefined;
      },
    },
    rulesFor: (name) => (name === tool ? rules : bundle.rulesFor(name)),
  };
}

function mergedRules(bundle: CompiledBundle, names: readonly string[]): ToolRules {
  const places = new Map<object, number>(bundle.document.rules.map((rule, place) => [rule, place]));
  // Sandboxes come after conditions.
  const placeOf = ({ rule }: CompiledRule): number =>
    (places.get(rule) ?? 0) + (rule.type === 'sandbox' ? bundle.document.rules.length : 0);
  const all = names.map((name) => bundle.rulesFor(name));
  const merged = (part: keyof ToolRules): readonly CompiledRule[] =>
    [...new Set(all.flatMap((rules) => rules[part]))].sort((a, b) => placeOf(a) - placeOf(b));
  return { before: merged('before'), post: merged('post'), shadow: merged('shadow') };
}
