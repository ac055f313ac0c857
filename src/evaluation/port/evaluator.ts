// Work on YAML that strangers wrote: dry runs, and reading and assembling bundles. Bounded in time, memory and number.
import type { Counters, DryRun, ToolArguments, ToolCall } from 'reeve-agent/rules';
import type { AssembledContract } from '../../bundle/record.ts';
import type { Finding } from '../../bundle/rules/finding.ts';
import type { CompositionItem } from '../../composition/record.ts';
import type { ContractType, DocumentKind, JsonObject, Mode } from '../../contract/record.ts';
import type { DeclaredContract } from '../../usage/rules.ts';
import type { EvaluationTime } from '../record.ts';
import type { CustomWords } from '../rules/custom-words.ts';
import type { Explanation } from '../rules/explanation.ts';
import type { ReplayCall } from '../rules/replay-call.ts';

/** A text and the call that it is asked about. */
export interface EvaluationRequest {
  readonly yaml: string;
  readonly call: ToolCall;
  /** Kinds of the tenant's tool arguments, for sandboxes. */
  readonly toolArguments: ToolArguments;
  readonly words: CustomWords;
  /** The tool's result; undefined: post contracts are not evaluated. */
  readonly output?: unknown;
  /** Counters before the call; without them session contracts and limits are not evaluated. */
  readonly session?: Counters;
}

/** A stored document, and a stored call that it is asked about. */
export interface ExplainRequest {
  readonly yaml: string;
  /** The contract whose conditions are listed; null: none. */
  readonly contractId: string | null;
  readonly call: ReplayCall;
  /** Kinds of the tenant's tool arguments, for sandboxes. */
  readonly toolArguments: ToolArguments;
  readonly words: CustomWords;
}

/** In the words of the rule language, which are the console's too. Every entry has a `trace`, null where none is. */
export interface Evaluation extends DryRun, EvaluationTime {
  /** Findings of the linter, and each custom operator that the run used. */
  readonly warnings: readonly Finding[];
}

/**
 * Accepted documents. `ruleset`: a kind for rulesets, without anchors, aliases and tags, at most 32 levels deep and
 * with at most 50,000 values. `any`, the default: all documents that agents load.
 */
export type DocumentForm = 'any' | 'ruleset';

/** Facts about a text that an upload needs. */
export interface BundleOutline {
  readonly name: string;
  /** Kind as the document contains it; null if it contains none. */
  readonly kind: string | null;
  /** Length of the list of contracts; 0 without a list. */
  readonly contractCount: number;
  /** Default mode of rules; null if the document has another default. */
  readonly mode: Mode | null;
  /** Its first 2,000 characters; null when there is none. */
  readonly description: string | null;
}

/** A bundle taken apart for the library. */
export interface BundleParts {
  readonly name: string;
  readonly documentKind: DocumentKind;
  readonly description: string | null;
  readonly defaultsMode: Mode;
  readonly toolsConfig: JsonObject | null;
  readonly observability: JsonObject | null;
  readonly contracts: readonly {
    readonly contractId: string;
    readonly type: ContractType;
    readonly name: string;
    readonly definition: JsonObject;
  }[];
}

/**
 * An entry of a bundle to assemble, in its final order. `shadow` runs beside the entry of the same contract, observing.
 */
export interface AssemblyItem extends Pick<CompositionItem, 'contractId' | 'version' | 'modeOverride'> {
  readonly type: ContractType;
  readonly definition: JsonObject;
  readonly shadow: boolean;
}

/** The parts of an assembled bundle. */
export interface AssemblyRequest {
  readonly name: string;
  readonly description: string | null;
  readonly defaultsMode: Mode;
  readonly toolsConfig: JsonObject | null;
  readonly observability: JsonObject | null;
  readonly words: CustomWords;
  /** Emitted. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly items: readonly AssemblyItem[];
}

/** An assembled bundle. */
export interface Assembly {
  readonly yaml: string;
  readonly contracts: readonly AssembledContract[];
  /** Problems that an agent's loader would refuse; empty if it loads the text. */
  readonly problems: readonly string[];
}

/** Bytes of a bundle's YAML. */
export const maxBundle = 1_048_576;

/** The result for parts that exceed a bundle's limits. */
export const tooLargeAssembly: Assembly = {
  yaml: '',
  contracts: [],
  problems: [`The assembled bundle is larger than ${maxBundle} bytes`],
};

/** Tenants take turns: what one of them asks for never takes all threads, nor all places of those that wait. */
export interface Evaluator {
  /**
   * Dry-runs a bundle against one call. Never sees this process's environment: `env.*` is missing. At most 4 of a
   * tenant run at once; a further one waits up to 1 s. Changes nothing, so a repeat is safe. A thread that still
   * remembers the text from the tenant does not compile it again. Custom operators cannot be run here: they are faults,
   * which make their contract fire.
   * @throws HubError too_busy; unprocessable (invalid YAML, over 5 s or over its memory); validation_failed (over 10
   *   documents or 100 contracts)
   */
  evaluate(tenantId: string, request: EvaluationRequest): Promise<Evaluation>;
  /**
   * The same as JSON text in UTF-8, written by the thread that ran it: a trace of 100 contracts is long, and whoever
   * only hands it on need not read it.
   * @throws HubError as `evaluate`
   */
  evaluateToJson(tenantId: string, request: EvaluationRequest): Promise<Uint8Array>;
  /**
   * The conditions of one contract for a stored call, and the document's decision. Bounded as `evaluate` is; changes
   * nothing. Values are shown with secrets replaced.
   * @throws HubError too_busy; unprocessable (a document that agents do not load, over 5 s or over its memory)
   */
  explain(tenantId: string, request: ExplainRequest): Promise<Explanation>;
  /** @throws HubError unprocessable (not a mapping with metadata.name, or out of bounds); overloaded */
  outline(tenantId: string, yaml: string): Promise<BundleOutline>;
  /** @throws HubError unprocessable (with the first problem, or more contracts than `maxContracts`); overloaded */
  takeApart(tenantId: string, yaml: string, maxContracts: number): Promise<BundleParts>;
  /**
   * Declared contracts of a stored document, at most 500.
   * @throws HubError unprocessable (unreadable document); overloaded
   */
  listContracts(tenantId: string, yaml: string): Promise<readonly DeclaredContract[]>;
  /**
   * The YAML of a composition, and its problems.
   * @throws HubError unprocessable (over 5 s or its memory); overloaded
   */
  assemble(tenantId: string, request: AssemblyRequest): Promise<Assembly>;
  /**
   * Compiles and lints a document. Compile errors (`invalid`, at most 50) come alone; else at most 100 findings of the
   * linter.
   * @throws HubError unprocessable (over 5 s or its memory); overloaded
   */
  inspect(
    tenantId: string,
    yaml: string,
    words: CustomWords,
    form?: DocumentForm,
  ): Promise<readonly Finding[]>;
  /** Ends all workers; what runs or waits is refused with shutting_down. */
  close(): Promise<void>;
}
