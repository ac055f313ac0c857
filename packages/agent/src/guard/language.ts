// Reads a guard's contracts: one document, or several in layers, in the language's own words or a vendor's. Judges
// nothing (policy.ts).
import { sha256 } from '../bundle/signature.ts';
import { ConfigurationError } from '../failure.ts';
import { maxBundle } from '../hub.ts';
import { readBundle } from '../rules/bundle/document.ts';
import type { RuleDocument } from '../rules/bundle/rule.ts';
import { compileBundle } from '../rules/evaluate/compile.ts';
import { createExplainer } from '../rules/evaluate/explain.ts';
import { engineOptions, type Language, maxContracts } from './engine.ts';
import { findingsOf } from './findings.ts';
import { Policy } from './policy.ts';

/** One YAML document, as text or UTF-8 bytes. */
export type YamlSource = string | Uint8Array;

const maxLayers = 50;

/**
 * Compiles one document, or several: later ones replace contracts of earlier ones by id, and those with
 * `observe_alongside` become shadow copies that only record. The version is the hash of the bytes; of several, of their
 * hashes.
 * @param lint whether the linter looks at them as well
 * @throws ConfigurationError that names every problem of every document; TypeError for what is no document
 */
export function compilePolicy(
  yaml: YamlSource | readonly YamlSource[],
  language: Language = {},
  lint = true,
): Policy {
  const sources = (Array.isArray(yaml) ? yaml : [yaml]).map(bytesOf);
  if (sources.length === 0 || sources.length > maxLayers) {
    throw new ConfigurationError(`a guard takes 1 to ${maxLayers} documents`);
  }
  const options = engineOptions(language);
  const documents: RuleDocument[] = [];
  const problems: string[] = [];
  const texts = sources.map(textOf);
  for (const [i, text] of texts.entries()) {
    const read = readBundle(text, { ...options, operators: Object.keys(options.operators ?? {}) });
    if (read.ok) documents.push(...read.documents);
    else {
      const where = sources.length === 1 ? '' : `document ${i + 1}: `;
      problems.push(...read.problems.map((problem) => where + problem.message));
    }
  }
  const rules = documents.reduce((sum, document) => sum + document.rules.length, 0);
  if (rules > maxContracts) problems.push(`expected at most ${maxContracts} contracts; there are ${rules}`);
  if (problems.length > 0) throw new ConfigurationError(problems.join('\n'));
  const compiled = compileBundle(documents, options);
  if (!compiled.ok) {
    throw new ConfigurationError(compiled.problems.map((problem) => problem.message).join('\n'));
  }
  const [first = '', ...others] = sources.map(sha256);
  const version = others.length === 0 ? first : sha256(Buffer.from([first, ...others].join(':')));
  const findings = lint ? findingsOf(texts, documents, language) : [];
  return new Policy(compiled.bundle, version, compiled.bundle.name, findings, createExplainer(options));
}

/** @throws TypeError for what is no YAML, such as the path of a file */
function bytesOf(source: unknown): Uint8Array {
  if (source instanceof Uint8Array) return source;
  if (typeof source !== 'string') throw new TypeError('yaml must be the text or the bytes of a document');
  if (/^[^\n:]+\.ya?ml$/.test(source)) {
    throw new TypeError(`yaml must be the document itself; Guard.fromFile reads ${source}`);
  }
  return Buffer.from(source, 'utf8');
}

function textOf(bytes: Uint8Array): string {
  if (bytes.byteLength > maxBundle) {
    throw new ConfigurationError(`the contracts are larger than ${maxBundle} bytes`);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (failure) {
    throw new ConfigurationError('the contracts are not UTF-8 text', failure);
  }
}
