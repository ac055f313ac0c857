// The evaluator: untrusted YAML in worker threads.
export { createEvaluator, type EvaluatorOptions } from './evaluator.ts';
