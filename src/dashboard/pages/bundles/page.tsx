// The bundles: the documents for agents with their versions, and the upload of a new one.
import { type JSX, useMemo, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useDraft } from '../../lib/drafts.ts';
import { problemsOf } from '../../lib/engine.ts';
import { useRefusal } from '../../lib/may.ts';
import { useOwnWords } from '../../lib/own-words.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useEnv } from '../../lib/search.ts';
import { counted } from '../../lib/text.ts';
import { countColumn, envsColumn, nameColumn, timeColumn, versionColumn } from '../../ui/columns.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Editor } from '../../ui/editor.tsx';
import { say } from '../../ui/messages.tsx';
import { Button, TabHead } from '../../ui/parts.tsx';
import { Failed } from '../../ui/query-result.tsx';
import { type Resource, ResourceView } from '../../ui/resource.tsx';
import type { Column } from '../../ui/table.tsx';
import { Problems } from '../contracts/form.tsx';
import { starterBundle } from '../contracts/starters.ts';
import { BundlePeek } from './peek.tsx';

type Row = Reply<'listBundles'>[number];

const columns: readonly Column<Row>[] = [
  nameColumn('name', 'Bundle', (row) => row.name, 2),
  versionColumn('latest', 'Latest', (row) => row.latest_version),
  countColumn('contracts', 'Contracts', (row) => row.contract_count),
  envsColumn('not deployed')('envs', 'Deployed to', (row) => row.deployed_envs, 2.4),
  timeColumn('deployed', 'Last deployed', (row) => row.last_deployed_at, 1.2),
  timeColumn('updated', 'Uploaded', (row) => row.last_updated, 1.2),
];

const bundles: Resource<Row> = {
  name: 'bundles',
  noun: 'bundle',
  keyOf: (row) => row.name,
  columns,
  linkOf: (row) => linkTo.bundle(row.name),
  title: (row) => `Bundle ${row.name}`,
  peek: (row) => <BundlePeek name={row.name} />,
  add: {
    label: 'Upload bundle',
    icon: 'upload',
    kind: 'primary',
    operation: 'uploadBundle',
    dialog: (close) => <Upload onClose={close} />,
  },
};

export function Bundles(): JSX.Element {
  const env = useEnv();
  const adding = useState(false);
  useCommand('uploadBundle', () => adding[1](true), { why: useRefusal('uploadBundle') });
  const bundlesQuery = useCall('listBundles', { query: { limit: 1000 } });
  const rows = (bundlesQuery.data ?? []).filter((row) => !env || row.deployed_envs.includes(env));
  const empty = {
    title: env ? `No bundles deployed to ${env}` : 'No bundles yet',
    text: 'Bundles appear here when you deploy a composition or upload a bundle.',
  };
  return (
    <ResourceView
      resource={{ ...bundles, empty }}
      query={bundlesQuery}
      rows={rows}
      adding={adding}
      head={(add) => (
        <TabHead
          summary={
            bundlesQuery.data &&
            `${counted(rows.length, 'bundle')} ${env ? `deployed to ${env}` : 'in the hub'}.`
          }
        >
          {add}
        </TabHead>
      )}
    />
  );
}

function Upload({ onClose }: { readonly onClose: () => void }): JSX.Element {
  const [draft, setDraft] = useDraft<{ readonly text: string }>('bundle');
  const text = draft?.text ?? starterBundle;
  const setText = (next: string): void => {
    if (next !== text) setDraft({ text: next });
  };
  const upload = useAction('uploadBundle', ['listBundles', 'listBundleVersions']);
  const words = useOwnWords();
  const problems = useMemo(() => problemsOf(text, words), [text, words]);
  const done = ({ name, version }: Reply<'uploadBundle'>): void => {
    say(`${name} v${version} uploaded. Deploy it to send it to agents.`, 'allow');
    setDraft(null);
    onClose();
  };
  return (
    <Dialog title="Upload bundle" shape="wide" open onClose={onClose}>
      <Editor label="Bundle as YAML" value={text} onValue={setText} problems={problems} />
      <Problems problems={problems} />
      {upload.error && <Failed error={upload.error} />}
      <div className="decide-buttons">
        <Button
          kind="primary"
          busy={upload.isPending}
          onClick={() => upload.mutate({ body: { yaml_content: text } }, done)}
        >
          Upload bundle
        </Button>
        {draft && <Button onClick={() => setDraft(null)}>Discard draft</Button>}
        <Button onClick={onClose}>{draft ? 'Keep draft and close' : 'Cancel'}</Button>
      </div>
    </Dialog>
  );
}
