// Warnings about contracts that a guard loads: valid parts that never match. Refuses nothing.
import { emitWarning } from 'node:process';
import type { OnError } from '../failure.ts';
import { type LintFinding, lintBundle } from '../rules/bundle/lint.ts';
import type { RuleDocument } from '../rules/bundle/rule.ts';
import { type Language, maxContracts } from './engine.ts';

/** A finding, and which of several documents it is in. */
export interface ContractFinding extends LintFinding {
  /** 1 for the first document. */
  readonly document: number;
}

/**
 * Told of all findings of the contracts that are put in use, in their order; not called when there are none. Must not
 * throw.
 */
export type OnFindings = (
  findings: readonly ContractFinding[],
  bundle: { readonly bundleName: string; readonly policyVersion: string },
) => void;

/** Findings of the linter in valid texts. All texts share the tools that one of them declares. */
export function findingsOf(
  texts: readonly string[],
  documents: readonly RuleDocument[],
  language: Language,
): readonly ContractFinding[] {
  const { operators, selectors, toolArguments, commandProfiles, apiVersions, bundleKinds, rulesetKinds } =
    language;
  const options = {
    maxContracts,
    operators: Object.keys(operators ?? {}),
    selectors: Object.keys(selectors ?? {}),
    tools: [...Object.keys(toolArguments ?? {}), ...documents.flatMap(({ tools }) => [...tools.keys()])],
    contractTools: documents.flatMap(({ rules }) =>
      rules.flatMap((rule) => ('tools' in rule ? rule.tools : [])),
    ),
    ...(commandProfiles ? { commandProfiles } : {}),
    ...(apiVersions ? { apiVersions } : {}),
    ...(bundleKinds ? { bundleKinds } : {}),
    ...(rulesetKinds ? { rulesetKinds } : {}),
  };
  return texts.flatMap((text, i) =>
    lintBundle(text, options).map((finding) => ({ ...finding, document: i + 1 })),
  );
}

/** Findings of contracts that are dead in this library too; the others are about what released clients do. */
const dead: ReadonlySet<string> = new Set<LintFinding['code']>([
  'bare-selector',
  'unknown-principal-field',
  'unknown-root',
  'unknown-field',
  'placeholder-operand',
  'unknown-tool',
]);
const maxWarned = 10;

/** One warning of the Node process, about what can never match. */
const warn: OnFindings = (findings, { bundleName }) => {
  const deadFindings = findings.filter(({ code }) => dead.has(code));
  if (deadFindings.length === 0) return;
  const lines = deadFindings.slice(0, maxWarned).map(textOf);
  const more = deadFindings.length > lines.length ? [`and ${deadFindings.length - lines.length} more`] : [];
  emitWarning([`problems in the contracts ${bundleName}:`, ...lines, ...more].join('\n  '), {
    type: 'ReeveWarning',
    code: 'REEVE_DEAD_CONTRACT',
  });
};

/** A finding as one line. */
export const textOf = ({ document, line, column, contract, message }: ContractFinding): string =>
  `${document > 1 ? `document ${document}, ` : ''}line ${line}, column ${column}: ${contract === null ? '' : `contract '${contract}': `}${message}`;

/** Says what was found in contracts that are now in use. Never throws. */
export function tellFindings(
  policy: { readonly findings: readonly ContractFinding[]; readonly name: string; readonly version: string },
  to: { readonly onFindings?: OnFindings | null; readonly onError?: OnError },
): void {
  const { findings, name, version } = policy;
  if (findings.length === 0 || to.onFindings === null) return;
  try {
    (to.onFindings ?? warn)(findings, { bundleName: name, policyVersion: version });
  } catch (failure) {
    to.onError?.(failure, 'calling onFindings');
  }
}
