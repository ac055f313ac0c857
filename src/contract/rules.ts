// A contract's definition as a sentence and as the names of its tools. Pure; runs in the hub and in browsers.
import { isMapping } from '../shared/json/mapping.ts';
import { camelKeys } from '../shared/snake-keys.ts';
import type { ContractType, JsonObject } from './record.ts';

/** Characters of a sentence. */
const maxSentence = 240;
/** Characters of a value in it. */
const maxValue = 40;
/** Values of a list, or conditions of a group, in it. */
const maxItems = 3;
/** Conditions inside each other that are read. */
const maxDepth = 16;

/** At most `max` characters, and a whole one at the end: not the first half of a surrogate pair. */
export const cut = (text: string, max: number): string =>
  text.length > max ? `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, '')}…` : text;

const valueText = (value: unknown): string =>
  cut(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''), maxValue);

const listText = (values: unknown): string => {
  if (!Array.isArray(values)) return valueText(values);
  const rest = values.length - maxItems;
  return `${values.slice(0, maxItems).map(valueText).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
};

const operators: ReadonlyMap<string, string> = new Map([
  ['equals', 'is'],
  ['not_equals', 'is not'],
  ['in', 'is one of'],
  ['not_in', 'is none of'],
  ['contains', 'contains'],
  ['contains_any', 'contains any of'],
  ['starts_with', 'starts with'],
  ['ends_with', 'ends with'],
  ['matches', 'matches'],
  ['matches_any', 'matches any of'],
  ['gt', '>'],
  ['gte', '≥'],
  ['lt', '<'],
  ['lte', '≤'],
]);

function comparison(selector: string, operator: string, value: unknown): string {
  if (operator === 'exists') return `${selector} ${value === false ? 'is missing' : 'exists'}`;
  return `${selector} ${operators.get(operator) ?? operator} ${listText(value)}`;
}

function group(conditions: unknown, word: 'and' | 'or', depth: number): string {
  if (!Array.isArray(conditions)) return '…';
  const rest = conditions.length - maxItems;
  const parts = conditions.slice(0, maxItems).map((one) => condition(one, depth + 1));
  const text = [...parts, ...(rest > 0 ? [`${rest} more`] : [])].join(` ${word} `);
  return depth > 0 && conditions.length > 1 ? `(${text})` : text;
}

function condition(value: unknown, depth: number): string {
  if (!isMapping(value) || depth > maxDepth) return '…';
  if (value.all !== undefined) return group(value.all, 'and', depth);
  if (value.any !== undefined) return group(value.any, 'or', depth);
  if (value.not !== undefined) return `not ${condition(value.not, depth + 1)}`;
  return Object.entries(value)
    .slice(0, maxItems)
    .flatMap(([selector, tests]) =>
      isMapping(tests)
        ? Object.entries(tests)
            .slice(0, maxItems)
            .map(([operator, operand]) => comparison(selector, operator, operand))
        : [],
    )
    .join(' and ');
}

/** Names and patterns of the contract's tools; empty: it names none, as a contract of a session may. */
export function toolsOf({ tool, tools }: JsonObject): readonly string[] {
  const names: readonly unknown[] = Array.isArray(tools) ? tools : [tool];
  return names.filter((name): name is string => typeof name === 'string');
}

function toolsText(definition: JsonObject): string {
  const tools = toolsOf(definition);
  return tools.length === 0 || tools.includes('*') ? 'all tools' : listText(tools);
}

/** By effects of contracts, and by actions of rules: a saved definition has the words of either. */
const verbs: ReadonlyMap<string, string> = new Map(
  Object.entries({
    deny: 'Denies',
    block: 'Denies',
    approve: 'Asks before',
    ask: 'Asks before',
    warn: 'Warns about',
    redact: 'Redacts',
  }),
);

const limitWords: ReadonlyMap<string, string> = new Map([
  ['max_tool_calls', 'executed calls'],
  ['max_attempts', 'attempts'],
]);

const perToolLimit = 'max_calls_per_tool';

function limitsText(limits: unknown): string {
  if (!isMapping(limits)) return 'its limits';
  const { [perToolLimit]: perTool, ...sums } = limits;
  const parts = [
    ...Object.entries(sums).map(([name, max]) => `${valueText(max)} ${limitWords.get(name) ?? name}`),
    ...(isMapping(perTool)
      ? Object.entries(perTool).map(([tool, max]) => `${valueText(max)} ${cut(tool, maxValue)}`)
      : []),
  ];
  const rest = parts.length - maxItems;
  return `${parts.slice(0, maxItems).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function boundsText(definition: JsonObject): string {
  const { within, allows, notWithin, notAllows: refused } = camelKeys(definition);
  const { commands, domains } = isMapping(allows) ? allows : ({} as JsonObject);
  const exceptDomains = isMapping(refused) ? refused.domains : undefined;
  const bound = (name: string, values: unknown, without: unknown): readonly string[] =>
    values === undefined
      ? []
      : [`${name} ${listText(values)}${without === undefined ? '' : ` except ${listText(without)}`}`];
  const parts = [
    ...bound('', within, notWithin),
    ...bound('commands', commands, undefined),
    ...bound('domains', domains, exceptDomains),
  ];
  return parts.map((part) => part.trim()).join('; ') || 'its bounds';
}

function actText(type: ContractType, definition: JsonObject): string {
  const then = isMapping(definition.then) ? definition.then : {};
  const effect = (type === 'sandbox' ? definition.outside : (then.effect ?? then.action)) ?? 'deny';
  // A saved definition may have any value here, also one that `String` throws for.
  const verb = typeof effect === 'string' ? (verbs.get(effect) ?? effect) : '…';
  const tools = toolsText(definition);
  switch (type) {
    case 'session':
      return `${verb} calls of a session beyond ${limitsText(definition.limits)}`;
    case 'sandbox':
      return `${verb} ${tools} outside ${boundsText(definition)}`;
    default: {
      const object = type === 'post' ? `results of ${tools}` : tools;
      return definition.when === undefined
        ? `${verb} ${object}`
        : `${verb} ${object} when ${condition(definition.when, 0)}`;
    }
  }
}

/** The definition in one sentence of at most 240 characters, without a full stop. Values in it are cut. */
export function sentenceOf(type: ContractType, definition: JsonObject): string {
  const state =
    definition.enabled === false ? 'Off: ' : definition.mode === 'observe' ? 'Observes only: ' : '';
  const text = actText(type, definition);
  return cut(state === '' ? text : `${state}${text.charAt(0).toLowerCase()}${text.slice(1)}`, maxSentence);
}
