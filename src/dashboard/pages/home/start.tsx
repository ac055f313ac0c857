// The first steps on a hub that has no agent yet: a key, an agent with that key, a bundle. Each is ticked when the hub hears of it.
import { type JSX, type ReactNode, useState } from 'react';
import type { ApiError, Reply } from '../../lib/api.ts';
import { useSignedIn } from '../../lib/me.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { copyText } from '../../ui/download.ts';
import { Icon } from '../../ui/icons.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Data, Failed, Select } from '../../ui/parts.tsx';
import { starterBundle } from '../contracts/starters.ts';

const snippets: { readonly [language: string]: (url: string, key: string) => string } = {
  curl: (url, key) =>
    `curl -N '${url}/api/v1/stream?env=production' \\\n  -H 'Authorization: Bearer ${key}' \\\n  -H 'X-Service-Agent-Id: first-agent'`,
  TypeScript: (url, key) =>
    `import { Guard } from 'reeve-agent';\n\nconst guard = await Guard.connect({\n  url: '${url}',\n  apiKey: '${key}',\n  agentId: 'first-agent',\n  bundleName: 'starter',\n});`,
  Python: (url, key) =>
    `import urllib.request\n\nrequest = urllib.request.Request(\n    "${url}/api/v1/stream?env=production",\n    headers={\n        "Authorization": "Bearer ${key}",\n        "X-Service-Agent-Id": "first-agent",\n    },\n)\nfor line in urllib.request.urlopen(request):\n    print(line.decode().rstrip())`,
};

/** No frame tells that an agent connected. */
const listenMs = 2_000;

function Step({
  done,
  title,
  children,
}: {
  readonly done: boolean;
  readonly title: string;
  readonly children: ReactNode;
}): JSX.Element {
  return (
    <li className={done ? 'step step-done' : 'step'}>
      <h3>
        <span className={done ? 'tone-allow' : 'muted'}>
          <Icon name={done ? 'check' : 'dash'} size={20} />
        </span>
        {title}
        <span className="heard">{done ? ' (done)' : ' (to do)'}</span>
      </h3>
      {children}
    </li>
  );
}

/** Stays until all three steps are done, also when it is opened again. */
export function Start(): JSX.Element | null {
  const me = useSignedIn();
  const keys = useCall('listKeys', { query: { limit: 1 } });
  const deployments = useCall('listDeployments', { query: { limit: 1 } });
  const [hidden, setHidden] = useState(false);
  const agents = useCall('listAgents', { query: { limit: 1 } }, { refetchMs: listenMs });
  const [made, setMade] = useState<Reply<'createKey'> | null>(null);
  const done = [keys.data, agents.data, deployments.data].map((list) => (list?.length ?? 0) > 0);
  if (hidden || !keys.data || !agents.data || !deployments.data) return null;
  if (done.every(Boolean) && made === null) return null;
  return (
    <section className="card start" aria-labelledby="start">
      <div className="card-head">
        <h2 id="start">
          {done.every(Boolean) ? 'An agent is governed by this hub' : 'Three steps to a governed agent'}
        </h2>
        <Button kind="quiet" onClick={() => setHidden(true)}>
          Hide
        </Button>
      </div>
      <ol className="steps">
        <Step done={done[0] ?? false} title="Make a key">
          {made === null &&
            (me.is_admin ? (
              <MakeKey onMade={setMade} />
            ) : (
              <p className="muted">An admin makes it under Keys.</p>
            ))}
        </Step>
        <Step done={done[1] ?? false} title="Start an agent with it">
          {made ? (
            <Snippet apiKey={made.key} />
          ) : (
            <p className="muted">Here stands what to run, with the key in it.</p>
          )}
          <p className="muted" aria-live="polite">
            {done[1] ? `The hub heard ${agents.data[0]?.agent_id ?? 'it'}.` : 'Waiting to hear of it.'}
          </p>
        </Step>
        <Step done={done[2] ?? false} title="Deploy the starter bundle">
          {!done[2] && <DeployStarter />}
        </Step>
      </ol>
      <Sample />
    </section>
  );
}

/** Something to look at before the first agent comes. It is counted in no figure. */
function Sample(): JSX.Element {
  const changed = ['searchEvents', 'listApprovals', 'listBundles', 'listDeployments'] as const;
  const make = useAction('makeSampleRun', [...changed]);
  const remove = useAction('deleteSampleRun', [...changed]);
  const error: ApiError | null = make.error ?? remove.error;
  return (
    <>
      <p className="muted">
        No agent yet? A sample run shows calls that were allowed, blocked and asked for. Its events are marked
        and counted nowhere.
      </p>
      {error && <Failed error={error} />}
      <div className="filter-bar">
        <Button
          busy={make.isPending}
          onClick={() =>
            make.mutate({}, { onSuccess: () => say('The sample run is under Events and Approvals.') })
          }
        >
          Show a sample run
        </Button>
        <Button
          kind="quiet"
          busy={remove.isPending}
          onClick={() => remove.mutate({}, { onSuccess: () => say('The sample run is gone.') })}
        >
          Remove it
        </Button>
      </div>
    </>
  );
}

function MakeKey({ onMade }: { readonly onMade: (made: Reply<'createKey'>) => void }): JSX.Element {
  const make = useAction('createKey', ['listKeys']);
  return (
    <>
      {make.error && <Failed error={make.error} />}
      <Button
        kind="primary"
        icon="plus"
        busy={make.isPending}
        onClick={() =>
          make.mutate({ body: { env: 'production', label: 'first agent' } }, { onSuccess: onMade })
        }
      >
        Create key for production
      </Button>
    </>
  );
}

function Snippet({ apiKey }: { readonly apiKey: string }): JSX.Element {
  const [language, setLanguage] = useState('curl');
  const text = snippets[language]?.(location.origin, apiKey) ?? '';
  return (
    <>
      <div className="filter-bar">
        <Select
          compact
          label="Language"
          value={language}
          options={Object.keys(snippets).map((one) => [one, one] as const)}
          onValue={setLanguage}
        />
        <Button
          icon="copy"
          onClick={() =>
            void copyText(text).then((did) =>
              say(did ? 'It is on your clipboard.' : 'The browser refused the clipboard: select it.'),
            )
          }
        >
          Copy
        </Button>
      </div>
      <pre className="code">
        <Data text={text} max={4_000} />
      </pre>
      <p className="muted">The key is shown here once: it is gone when you leave.</p>
    </>
  );
}

function DeployStarter(): JSX.Element {
  const upload = useAction('uploadBundle', ['listBundles']);
  const deploy = useAction('deployBundle', ['listDeployments', 'listBundles']);
  const run = async (): Promise<void> => {
    const { name, version } = await upload.mutateAsync({ body: { yaml_content: starterBundle } });
    await deploy.mutateAsync({ params: { name, version }, body: { env: 'production' } });
  };
  const error: ApiError | null = upload.error ?? deploy.error;
  return (
    <>
      {error && <Failed error={error} />}
      <Button busy={upload.isPending || deploy.isPending} onClick={() => void run().catch(() => undefined)}>
        Deploy the starter to production
      </Button>
    </>
  );
}
