// Snippets that start a first agent, with the address of this hub and a key. Each connects and keeps running.
import manifest from 'reeve-agent/package.json' with { type: 'json' };
import { starterBundle } from '../contracts/starters.ts';

const { version } = manifest;

const name = /^ {2}name: (\S+)$/m.exec(starterBundle)?.[1] ?? 'starter';

export const firstAgent = 'first-agent';

/** Returns the snippet for a key. The hub's address is the address of this page. */
export const snippets: { readonly [language: string]: (url: string, key: string) => string } = {
  TypeScript: (url, key) => `// npm install ${url}/downloads/reeve-agent-${version}.tgz
import { Guard } from 'reeve-agent';

const guard = await Guard.connect({
  url: '${url}',
  apiKey: '${key}',
  agentId: '${firstAgent}',
  bundleName: '${name}',
});
// The starter bundle denies this call, and the denied call appears under Events. Use one session per conversation.
const answer = await guard
  .run('read_file', { path: '.env' }, async () => 'never read', { sessionId: 'conversation-1' })
  .catch((error) => error.message);
process.stdout.write(answer + '\\n');`,
  Python: (url, key) => `import urllib.request

request = urllib.request.Request(
    "${url}/api/v1/stream?env=production&bundle_name=${name}",
    headers={
        "Authorization": "Bearer ${key}",
        "X-Service-Agent-Id": "${firstAgent}",
    },
)
for line in urllib.request.urlopen(request):
    print(line.decode().rstrip())`,
  curl: (url, key) => `curl -N '${url}/api/v1/stream?env=production&bundle_name=${name}' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'X-Service-Agent-Id: ${firstAgent}'`,
};
