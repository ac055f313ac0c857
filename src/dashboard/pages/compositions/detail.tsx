// One composition: what stands in it is changed and saved, compared with what each environment runs, and deployed. What
// is changed and not saved stays with its person.
import { type JSX, useState } from 'react';
import type { Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useDraft } from '../../lib/drafts.ts';
import { keyOf, queries, useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { Answer, Failed, Lacking } from '../../ui/answer.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Icon } from '../../ui/icons.tsx';
import { say } from '../../ui/overlay.tsx';
import { Button, Data, Select, Time } from '../../ui/parts.tsx';
import { DeployDialog, type DeploySource } from '../bundles/deploy.tsx';
import { bodyOf, type CompositionDraft, storedOf, textOf } from './draft.ts';
import { Environments } from './environments.tsx';
import { Items } from './items.tsx';

type Whole = Reply<'getComposition'>;

export function CompositionDetail({ name }: { readonly name: string }): JSX.Element {
  const found = useCall('getComposition', { params: { name } });
  return (
    <Answer of={found} rows={8}>
      {(composition) => <Edit composition={composition} />}
    </Answer>
  );
}

function Edit({ composition }: { readonly composition: Whole }): JSX.Element {
  const { name } = composition;
  const stored = storedOf(composition);
  const [draft, setDraft] = useDraft<CompositionDraft>(`composition ${name}`);
  const [source, setSource] = useState<DeploySource | null>(null);
  const [preview, setPreview] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const library = useCall('listContracts', { query: { limit: 1000 } });
  const save = useAction('updateComposition', [
    'listCompositions',
    'getComposition',
    'previewComposition',
    'bundleImpact',
    'listContracts',
  ]);
  const shown = draft ?? stored;
  const changed = draft !== null && textOf(draft) !== textOf(stored);
  const isOld = changed && draft.base !== stored.base;
  useCommand('deploy', () => setSource({ kind: 'composition', name }), {
    of: name,
    why: changed ? 'save or undo the changes first' : shown.items.length === 0 ? 'it has no contract' : null,
  });
  const newer = composition.contracts.filter((one) => one.has_newer_version);
  const change = (to: Partial<CompositionDraft>): void => setDraft({ ...shown, ...to });
  const submit = (): void =>
    save.mutate(bodyOf(name, shown), {
      onSuccess: (saved) => {
        queries.setQueryData(keyOf('getComposition', { params: { name } }), saved);
        setDraft(null);
        say(`${name} is saved. Deploy it to bring it to agents.`, 'allow');
      },
    });
  return (
    <>
      {composition.description && (
        <p className="muted">
          <Data text={composition.description} mono={false} max={600} />
        </p>
      )}
      <p className="muted">
        Changed <Time at={composition.updated_at} />.
        {composition.document_kind === 'ruleset' && ' It becomes a ruleset, for agents that load those.'}
        {composition.document_kind === 'bundle' && ' It becomes a bundle of contracts.'}
      </p>
      {newer.length > 0 && (
        <div className="notice notice-ask">
          <Icon name="triangle" />
          <div>
            <p>
              There are newer versions of {newer.map((one) => one.contract_id).join(', ')}. Saving takes the
              newest of each.
            </p>
          </div>
          {!changed && (
            <Button busy={save.isPending} onClick={submit}>
              Take the newest
            </Button>
          )}
        </div>
      )}
      {isOld && (
        <div className="notice notice-ask" role="status">
          <Icon name="triangle" />
          <div>
            <p>
              <strong>Somebody else saved this composition</strong> <Time at={composition.updated_at} />,
              after you began. What you see is yours, and is not saved.
            </p>
          </div>
          <Button onClick={() => setDraft(null)}>Take theirs</Button>
          <Button onClick={() => change({ base: stored.base })}>Keep mine</Button>
        </div>
      )}
      <Select
        label="Mode of contracts that name none"
        value={shown.mode}
        options={[
          ['enforce', 'enforce: they act'],
          ['observe', 'observe: they only record'],
        ]}
        onValue={(mode) => change({ mode: mode as CompositionDraft['mode'] })}
      />
      <Lacking of={library} />
      <Items
        items={shown.items}
        pinned={composition.contracts}
        library={library.data ?? []}
        onItems={(items) => change({ items })}
      />
      {save.error && <Failed error={save.error} />}
      <div className="decide-buttons starters">
        {changed ? (
          <>
            <Button kind="primary" busy={save.isPending} disabled={isOld} onClick={submit}>
              Save composition
            </Button>
            <Button onClick={() => setDraft(null)}>Undo changes</Button>
          </>
        ) : (
          <Button
            kind="primary"
            disabled={shown.items.length === 0}
            onClick={() => setSource({ kind: 'composition', name })}
          >
            Deploy {name}
          </Button>
        )}
        <Button aria-expanded={preview} onClick={() => setPreview(!preview)}>
          {preview ? 'Hide' : 'Show'} YAML
        </Button>
        <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      </div>
      {changed && (
        <p className="muted">
          Your changes are not saved. They stay in this tab until you save or undo them; what stands below is
          the saved composition.
        </p>
      )}
      {composition.contracts.length > 0 && (
        <Environments name={name} onCompare={(at) => setSource({ kind: 'composition', name, at })} />
      )}
      {preview && <Preview name={name} />}
      <DeployDialog source={source} onClose={() => setSource(null)} />
      <Delete composition={composition} open={deleting} onClose={() => setDeleting(false)} />
    </>
  );
}

function Preview({ name }: { readonly name: string }): JSX.Element {
  const found = useCall('previewComposition', { params: { name } });
  return (
    <Answer of={found} rows={6}>
      {({ yaml_content: text, validation_errors: problems }) => (
        <section className="form">
          {problems.map((problem) => (
            <p key={problem} className="field-error">
              <Data text={problem} mono={false} max={400} />
            </p>
          ))}
          <Editor label="YAML that a deploy would make" value={text} />
        </section>
      )}
    </Answer>
  );
}

function Delete({
  composition: { name, contracts },
  open,
  onClose,
}: {
  readonly composition: Whole;
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('deleteComposition', ['listCompositions']);
  const [, change] = useFilters();
  const bundles = useCall('listBundles', { query: { limit: 1000 } }, { enabled: open });
  const runs = bundles.data?.find((one) => one.name === name)?.deployed_envs ?? [];
  const stays = 'Where a bundle that was made from it runs, it stays deployed: agents notice nothing.';
  const done = (): void => {
    say(`${name} was deleted. Bundles made from it stay.`, 'allow');
    change({ id: undefined }, true);
  };
  return (
    <Confirm
      title="Delete composition"
      open={open}
      onClose={onClose}
      by={remove}
      act="Delete composition"
      onAct={() => remove.mutate({ params: { name } }, { onSuccess: done })}
    >
      <p>
        <Data text={name} max={120} /> is deleted.{' '}
        {contracts.length === 1 ? 'Its contract stays' : `Its ${contracts.length} contracts stay`} in the
        library.{' '}
        {bundles.data === undefined
          ? stays
          : runs.length === 0
            ? 'No environment runs a bundle that was made from it.'
            : `What was made from it stays deployed to ${runs.join(', ')}: agents notice nothing.`}
      </p>
    </Confirm>
  );
}
