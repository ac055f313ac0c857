// The error of the rule engine: a document, a pattern or a call that cannot be used. Knows no transport and no hub.

/**
 * A problem and its place in one sentence: line and column, or the offset in a pattern. Shown to the document's author.
 */
export class RuleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RuleError';
  }
}
