// An MCP server of revision 2026-07-28 over standard input and output: it rejects clients of older revisions.
// Calls that run are lines of the file in its first argument.
import { appendFileSync } from 'node:fs';
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [journal = ''] = process.argv.slice(2);
const inputSchema = z.looseObject({ path: z.string() });

serveStdio(
  () => {
    const server = new McpServer(
      { name: 'modern', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.registerTool('read', { description: 'reads a file', inputSchema }, ({ path }) => {
      appendFileSync(journal, `read ${path}\n`);
      if (path === 'end') process.exit(1);
      if (path === 'hang') return new Promise<never>(() => {});
      return { content: [{ type: 'text', text: `contents of ${path}, call 555-1234` }] };
    });
    server.registerTool(
      'ask',
      { description: 'asks its user', inputSchema: z.looseObject({}) },
      (_args, { mcpReq }) => {
        const answer = acceptedContent(mcpReq.inputResponses, 'sure');
        appendFileSync(journal, answer ? `answered ${mcpReq.requestState()}\n` : 'ask\n');
        if (answer) return { content: [{ type: 'text', text: 'done' }] };
        return inputRequired({
          inputRequests: {
            sure: inputRequired.elicit({
              message: 'sure?',
              requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } } },
            }),
          },
          requestState: 'own state',
        });
      },
    );
    return server;
  },
  { legacy: 'reject' },
);
