// One composition: edit and save its contracts, compare it with each environment, deploy it. The browser keeps unsaved
// changes for the person.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useRef, useState } from 'react';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { changeTo } from '../../lib/change-link.ts';
import { useCommand } from '../../lib/commands.ts';
import { afterSave, useDraft } from '../../lib/drafts.ts';
import { keyOf, queries, useCall } from '../../lib/query.ts';
import { type Env as Environment, envs } from '../../lib/search.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { EditConflict } from '../../ui/edit-conflict.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Select } from '../../ui/form.tsx';
import { say } from '../../ui/messages.tsx';
import { DataLink, DataParagraph } from '../../ui/names.tsx';
import { Button, Data, Notice, Time } from '../../ui/parts.tsx';
import { Failed, QueryProblem, QueryResult } from '../../ui/query-result.tsx';
import { RemovalDialog } from '../../ui/resource.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { bodyOf, type CompositionDraft, storedOf, textOf, useUpdateComposition } from './draft.ts';
import { Environments } from './environments.tsx';
import { Items, maxListed } from './items.tsx';

type Whole = Reply<'getComposition'>;

/** The newest deployments of a bundle that are searched for the newest one in each environment. */
const maxDeployments = 200;

function CompositionDetail({ id: name }: { readonly id: string }): JSX.Element {
  const compositionQuery = useCall('getComposition', { params: { name } });
  return (
    <QueryResult query={compositionQuery} rows={8}>
      {(composition) => <Edit composition={composition} />}
    </QueryResult>
  );
}

/** The contracts and the environments of a composition, without its editor. */
export function CompositionPeek({ name }: { readonly name: string }): JSX.Element {
  const compositionQuery = useCall('getComposition', { params: { name } });
  return (
    <QueryResult query={compositionQuery} rows={8}>
      {({ description, updated_at: updatedAt, contracts }) => (
        <>
          <DataParagraph className="muted" text={description} mono={false} max={600} />
          <p className="muted">
            Changed <Time at={updatedAt} />.
          </p>
          <ol className="feed">
            {contracts.map((one) => (
              <li key={one.contract_id} className="feed-row">
                <DataLink link={linkTo.contract(one.contract_id)} text={one.contract_id} max={120} />
                {one.has_newer_version && <span className="tag">newer version</span>}
              </li>
            ))}
          </ol>
        </>
      )}
    </QueryResult>
  );
}

/** The unsaved changes of a composition, and the acts on them. */
function useEdit(composition: Whole) {
  const { name } = composition;
  const stored = storedOf(composition);
  const [draft, setDraft] = useDraft<CompositionDraft>(`composition ${name}`);
  const navigate = useNavigate();
  const sent = useRef('');
  const save = useUpdateComposition((saved) => {
    queries.setQueryData(keyOf('getComposition', { params: { name } }), saved);
    setDraft(afterSave((edited) => textOf(edited) === sent.current, saved.updated_at));
  });
  const isChanged = draft !== null && textOf(draft) !== textOf(stored);
  const visibleDraft = isChanged ? draft : stored;
  // A draft without changes has an old base: after the next save by another user, it would be a conflict.
  useEffect(() => {
    if (draft !== null && !isChanged) setDraft(null);
  }, [draft, isChanged, setDraft]);
  const change = (to: Partial<CompositionDraft>): void => setDraft({ ...visibleDraft, ...to });
  return {
    name,
    save,
    draft: visibleDraft,
    isChanged,
    /** Another user saved the composition since the edit began. */
    isOld: isChanged && !save.isPending && draft.base !== stored.base,
    isEmpty: visibleDraft.items.length === 0,
    change,
    keep: () => change({ base: stored.base }),
    discard: () => setDraft(null),
    submit: (): void => {
      sent.current = textOf(visibleDraft);
      save.mutate(bodyOf(name, visibleDraft), () =>
        say(`${name} saved. Deploy it to send it to agents.`, 'allow'),
      );
    },
    deploy: (env?: Environment): void => void navigate({ ...changeTo.composition(name, env) }),
  };
}

function Edit({ composition }: { readonly composition: Whole }): JSX.Element {
  const edit = useEdit(composition);
  const { name, save, draft, isChanged, isOld, change } = edit;
  const [isPreviewed, setPreviewed] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const library = useCall('listContracts', { query: { limit: maxListed } });
  useCommand('deploy', () => edit.deploy(), {
    of: name,
    why: isChanged
      ? 'save or discard your changes first'
      : edit.isEmpty
        ? 'the composition has no contracts'
        : null,
  });
  const newer = composition.contracts.filter((one) => one.has_newer_version);
  return (
    <>
      <Summary composition={composition} />
      {newer.length > 0 && (
        <NewerVersions
          ids={newer.map((one) => one.contract_id)}
          onUpdate={isChanged ? null : edit.submit}
          busy={save.isPending}
        />
      )}
      {isOld && (
        <EditConflict
          noun="composition"
          savedAt={composition.updated_at}
          onLoad={edit.discard}
          onKeep={edit.keep}
        />
      )}
      <Select
        label="Default mode"
        value={draft.mode}
        options={[
          ['enforce', 'enforce: contracts apply'],
          ['observe', 'observe: contracts only record'],
        ]}
        onValue={(mode) => change({ mode: mode as CompositionDraft['mode'] })}
      />
      <QueryProblem query={library} />
      <Items
        items={draft.items}
        pinned={composition.contracts}
        library={library.data ?? []}
        onItems={(items) => change({ items })}
      />
      {save.error && <Failed error={save.error} />}
      <div className="decide-buttons starters">
        <MainActs edit={edit} />
        <Button aria-expanded={isPreviewed} onClick={() => setPreviewed(!isPreviewed)}>
          {isPreviewed ? 'Hide' : 'Show'} YAML
        </Button>
        <ActButton operation="deleteComposition" kind="danger" icon="trash" onClick={() => setDeleting(true)}>
          Delete
        </ActButton>
      </div>
      {isChanged && (
        <p className="muted">
          Your changes are not saved. They stay in this tab until you save or discard them. The section below
          shows the saved composition.
        </p>
      )}
      {composition.contracts.length > 0 && <Environments name={name} onCompare={edit.deploy} />}
      {isPreviewed && <Preview name={name} />}
      <Delete composition={composition} open={deleting} onClose={() => setDeleting(false)} />
    </>
  );
}

/** Saves unsaved changes; without any, deploys. */
const MainActs = ({ edit }: { readonly edit: ReturnType<typeof useEdit> }): JSX.Element =>
  edit.isChanged ? (
    <>
      <ActButton
        operation="updateComposition"
        kind="primary"
        busy={edit.save.isPending}
        disabled={edit.isOld}
        onClick={edit.submit}
      >
        Save composition
      </ActButton>
      <Button onClick={edit.discard}>Discard changes</Button>
    </>
  ) : (
    <ActButton
      operation="deployComposition"
      kind="primary"
      disabled={edit.isEmpty}
      onClick={() => edit.deploy()}
    >
      Deploy {edit.name}
    </ActButton>
  );

const Summary = ({ composition }: { readonly composition: Whole }): JSX.Element => (
  <>
    <DataParagraph className="muted" text={composition.description} mono={false} max={600} />
    <p className="muted">
      Changed <Time at={composition.updated_at} />.
      {composition.document_kind === 'ruleset' && ' Deploys as a ruleset.'}
      {composition.document_kind === 'bundle' && ' Deploys as a contract bundle.'}
    </p>
  </>
);

/** @param onUpdate null while a person edits the composition */
function NewerVersions({
  ids,
  onUpdate,
  busy,
}: Readonly<{ ids: readonly string[]; onUpdate: (() => void) | null; busy: boolean }>): JSX.Element {
  return (
    <Notice
      tone="ask"
      icon="triangle"
      acts={
        onUpdate && (
          <ActButton operation="updateComposition" busy={busy} onClick={onUpdate}>
            Update contracts
          </ActButton>
        )
      }
    >
      <p>
        Newer versions are available: {ids.join(', ')}. Saving updates each contract to its latest version.
      </p>
    </Notice>
  );
}

function Preview({ name }: { readonly name: string }): JSX.Element {
  const previewCompositionQuery = useCall('previewComposition', { params: { name } });
  return (
    <QueryResult query={previewCompositionQuery} rows={6}>
      {({ yaml_content: text, validation_errors: problems }) => (
        <section className="form">
          {problems.map((problem) => (
            <p key={problem} className="field-error">
              <Data text={problem} mono={false} max={400} />
            </p>
          ))}
          <Editor label="Deployment YAML" value={text} />
        </section>
      )}
    </QueryResult>
  );
}

function Delete({
  composition: { name, contracts },
  open,
  onClose,
}: Readonly<{ composition: Whole; open: boolean; onClose: () => void }>): JSX.Element {
  const navigate = useNavigate();
  const query = { bundle_name: name, limit: maxDeployments };
  const { data: deployments = null } = useCall('listDeployments', { query }, { enabled: open });
  const newest = envs.map((env) => deployments?.find((one) => one.env === env));
  const isComplete = deployments && (deployments.length < maxDeployments || newest.every(Boolean));
  const runs = newest.flatMap((one) => (one?.undeployed_at === null ? [one.env] : []));
  const stays = 'Bundles created from it stay deployed, and agents keep them.';
  const done = (): void => {
    say(`${name} deleted. Its bundles remain.`, 'allow');
    void navigate({ to: '/policies', search: { view: 'compositions' } as never, replace: true });
  };
  return (
    <RemovalDialog
      operation="deleteComposition"
      refreshes={['listCompositions']}
      title="Delete composition"
      input={{ params: { name } }}
      {...{ open, onClose }}
      onDone={done}
    >
      Deleting <Data text={name} max={120} /> leaves{' '}
      {contracts.length === 1 ? 'its contract' : `its ${contracts.length} contracts`} in the library.{' '}
      {!isComplete
        ? stays
        : runs.length === 0
          ? 'No environment runs a bundle created from it.'
          : `Its bundle stays deployed to ${runs.join(', ')}, and agents keep it.`}
    </RemovalDialog>
  );
}

export default thingPage(
  'Composition',
  { to: '/policies', view: 'compositions', label: 'View all compositions' },
  CompositionDetail,
);
