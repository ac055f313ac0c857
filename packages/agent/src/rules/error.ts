// The error of the rule engine: a document, a pattern or a call that cannot be used. Knows no transport and no hub.

/**
 * What is wrong, in one sentence that says where: line and column, or the offset in a pattern. Shown to the author of
 * the document.
 */
export class RuleError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RuleError';
  }
}
