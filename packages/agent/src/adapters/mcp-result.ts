// Results of MCP tools as a guard reads and replaces them, for the adapter of MCP servers and for the proxy.
import type { RunOptions } from '../guard/call.ts';

/** What a tool handler answers. */
export interface McpResult {
  readonly content?: readonly {
    readonly type: string;
    readonly text?: string;
    readonly resource?: { readonly text?: string };
  }[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** How a guard judges such results. */
export const mcpRunOptions: RunOptions<McpResult> = {
  success: (result) => result?.isError !== true,
  outputText: textOf,
  replaceText: (result, text) => ({ ...withoutStructure(result), content: [{ type: 'text', text }] }),
};

/** A denial as a result that the model can read. */
export const denialResult = (reason: string): McpResult => ({
  isError: true,
  content: [{ type: 'text', text: `Denied: ${reason}` }],
});

function textOf(result: McpResult): string {
  const parts = (result?.content ?? [])
    .map((part) => part.text ?? part.resource?.text)
    .filter((text) => text !== undefined);
  if (result?.structuredContent !== undefined) parts.push(JSON.stringify(result.structuredContent));
  return parts.join('\n');
}

/** Replaced text has no structure any more; without `isError` the SDK would insist on it. */
function withoutStructure(result: McpResult): McpResult {
  const { structuredContent, ...rest } = result;
  return structuredContent === undefined ? rest : { ...rest, isError: true };
}
