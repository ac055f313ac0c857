// Inspects a document before it is sent to agents. It reads only the text and the tenant's settings.

import type { DocumentForm } from '../../evaluation/port/evaluator.ts';
import { customWords } from '../../evaluation/use-cases/tool-settings.ts';
import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type Finding, findingText, isError, sizeFindings } from '../rules.ts';

export interface Inspector {
  /**
   * Everything found in the document: errors, which stop a deploy, and warnings.
   * @param form what it may be; `any` by default
   * @throws HubError overloaded
   */
  inspect(tenantId: string, yaml: string, form?: DocumentForm): Promise<readonly Finding[]>;
}

export function createInspector({ store, evaluator }: Pick<AppPorts, 'store' | 'evaluator'>): Inspector {
  return {
    async inspect(tenantId, yaml, form) {
      const words = await customWords(store, tenantId);
      const size = sizeFindings(new TextEncoder().encode(yaml).length);
      try {
        return [...(await evaluator.inspect(tenantId, yaml, words, form)), ...size];
      } catch (error) {
        if (!(error instanceof HubError) || error.code !== 'unprocessable') throw error;
        return [invalid(error.message), ...size];
      }
    },
  };
}

/** A finding about an unreadable document, without a position. */
const invalid = (message: string): Finding => ({
  severity: 'error',
  code: 'invalid',
  contract: null,
  path: '',
  line: 1,
  column: 1,
  message,
  suggestion: null,
});

/** Findings named in the sentence of a refusal; the answer lists all. */
const named = 20;

/** @throws HubError unprocessable that names what stops a deploy, when anything does */
export function requireDeployable(findings: readonly Finding[]): void {
  const errors = findings.filter(isError);
  if (errors.length === 0) return;
  const shown = errors.slice(0, named).map(findingText);
  const more = errors.length > named ? `; and ${errors.length - named} more` : '';
  const count = errors.length === 1 ? 'an error' : `${errors.length} errors`;
  throw new HubError(
    'unprocessable',
    `Nothing was deployed, because the document has ${count}. ${shown.join('; ')}`.slice(0, 4000) + more,
    { findings },
  );
}

/** The text of a stored document, as agents read it. */
export const textOf = (yaml: Uint8Array): string => new TextDecoder().decode(yaml);
