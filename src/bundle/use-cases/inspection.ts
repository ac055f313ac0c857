// Inspects a document before it is sent to agents. It reads only the text and the tenant's settings.
import type { DocumentForm } from '../../evaluation/port/evaluator.ts';
import { wordsOf } from '../../evaluation/rules/custom-words.ts';
import { HubError } from '../../shared/error.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import { type Finding, sizeFindings } from '../rules/finding.ts';

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
      const words = wordsOf(await store.settings.get(tenantId, 'tools'));
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
