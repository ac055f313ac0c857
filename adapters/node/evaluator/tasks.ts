// What a worker can do with a text: outline, take apart, assemble, evaluate. Pure calls into the domain; keeps nothing.
import { assembleBundle } from '../../../src/domain/bundle/assembly.ts';
import { decomposeBundle } from '../../../src/domain/bundle/decomposition.ts';
import { readBundleHeader } from '../../../src/domain/bundle/header.ts';
import { HubError } from '../../../src/domain/error.ts';
import type {
  Assembly,
  AssemblyRequest,
  BundleOutline,
  BundleParts,
  Evaluation,
  EvaluationRequest,
} from '../../../src/ports/evaluator.ts';

export interface Accepted {
  readonly apiVersions: readonly string[];
  readonly kinds: readonly string[];
}

export type Task =
  | { readonly kind: 'outline'; readonly yaml: string }
  | { readonly kind: 'takeApart'; readonly yaml: string; readonly accepted: Accepted }
  | { readonly kind: 'assemble'; readonly request: AssemblyRequest; readonly accepted: Accepted }
  | { readonly kind: 'evaluate'; readonly request: EvaluationRequest; readonly accepted: Accepted };

export type TaskResult<T extends Task> = T extends { kind: 'outline' }
  ? BundleOutline
  : T extends { kind: 'takeApart' }
    ? BundleParts
    : T extends { kind: 'assemble' }
      ? Assembly
      : Evaluation;

export function perform(task: Task): BundleOutline | BundleParts | Assembly | Evaluation {
  switch (task.kind) {
    case 'outline':
      return readBundleHeader(task.yaml);
    case 'takeApart':
      return decomposeBundle(task.yaml);
    case 'assemble': {
      const { items, ...rest } = task.request;
      // Definitions came out of the store as JSON, which is what the domain's stricter type says.
      const composition = {
        ...rest,
        items: items.map((item, position) => ({ ...item, position, enabled: true })),
      } as Parameters<typeof assembleBundle>[0];
      const built = assembleBundle(composition);
      return { yaml: built.yaml, contracts: built.assembled, problems: [] };
    }
    case 'evaluate':
      throw new HubError('unprocessable', 'Evaluation is not available');
  }
}
