// The part of a bundle that an upload must contain: its name, its description, and its number of rules. Everything else
// may still be unfinished.
import { RuleError } from '../error.ts';
import { bundleNamePattern, reservedBundleNames } from '../names.ts';
import { type JsonObject, parseYaml, type YamlDocument } from '../yaml.ts';

export interface BundleHeader {
  readonly name: string;
  /** As the document says it; null when it does not. */
  readonly kind: string | null;
  /** Length of the list of contracts (or rules); 0 without a list. */
  readonly contractCount: number;
  /** The mode of rules that name none; null when the document says something else. */
  readonly mode: 'enforce' | 'observe' | null;
  /** Its first 2,000 characters; null when there is none. */
  readonly description: string | null;
}

export const maxBundleNameLength = 128;
/** Rules in one stored bundle. Evaluation, import and composition accept fewer (100). */
export const maxStoredRules = 500;
const maxDescription = 2000;

/**
 * Reads the name of an uploaded bundle and counts its contracts.
 * @throws RuleError with the sentences of the console API: "Invalid YAML: …", "Invalid YAML: expected a mapping at the
 *   top level", "Missing required field: metadata.name", or why the name cannot be used.
 */
export function readBundleHeader(yamlText: string): BundleHeader {
  const { value } = readSingleMapping(yamlText);
  const name = bundleName(value);
  const list = value.contracts ?? value.rules;
  const contractCount = Array.isArray(list) ? list.length : 0;
  if (contractCount > maxStoredRules) {
    throw new RuleError(
      `A bundle can contain at most ${maxStoredRules} contracts, but this one contains ${contractCount}`,
    );
  }
  return {
    name,
    kind: typeof value.kind === 'string' ? value.kind : null,
    contractCount,
    mode: modeOf(value.defaults),
    description: descriptionOf(value.metadata),
  };
}

const isMapping = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

function modeOf(defaults: unknown): BundleHeader['mode'] {
  const settings = defaults ?? {};
  const mode = isMapping(settings) ? (settings.mode ?? 'enforce') : null;
  return mode === 'enforce' || mode === 'observe' ? mode : null;
}

function descriptionOf(metadata: unknown): string | null {
  const text = isMapping(metadata) ? metadata.description : null;
  return typeof text === 'string' && text !== ''
    ? [...text.slice(0, 2 * maxDescription)].slice(0, maxDescription).join('')
    : null;
}

/**
 * The one document of a text, which must be a mapping.
 * @throws RuleError
 */
export function readSingleMapping(yamlText: string): { document: YamlDocument; value: JsonObject } {
  const [document] = parseYaml(yamlText, { maxDocuments: 1 });
  const value = document?.value;
  if (!document || !isMapping(value)) {
    throw new RuleError('Invalid YAML: expected a mapping at the top level');
  }
  return { document, value };
}

/**
 * The bundle name of a parsed document.
 * @throws RuleError
 */
export function bundleName(document: JsonObject): string {
  const name = isMapping(document.metadata) ? document.metadata.name : undefined;
  if (name === undefined || name === null || name === '') {
    throw new RuleError('Missing required field: metadata.name');
  }
  const problem = bundleNameProblem(name);
  if (problem) throw new RuleError(`Invalid metadata.name: ${problem}`);
  return String(name);
}

/** Problem of a value as the name of a bundle; null for a valid name. */
export function bundleNameProblem(name: unknown): string | null {
  if (typeof name !== 'string') return 'expected a string';
  if (name.length > maxBundleNameLength) return `expected at most ${maxBundleNameLength} characters`;
  if (!bundleNamePattern.test(name)) return `expected to match ${bundleNamePattern.source}`;
  if (reservedBundleNames.has(name)) return `"${name}" is reserved`;
  return null;
}
