// One composition: its contracts are put in order by drag or by keys, switched on and off, given a mode; then saved,
// looked at, deployed.
import { type JSX, useState } from 'react';
import type { Input, Reply } from '../../lib/api.ts';
import { useCommand } from '../../lib/commands.ts';
import { useAction, useCall } from '../../lib/query.ts';
import { useFilters } from '../../lib/search.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Editor } from '../../ui/editor.tsx';
import { Icon } from '../../ui/icons.tsx';
import { say } from '../../ui/overlay.tsx';
import { Answer, Button, Data, Failed, Select, Time } from '../../ui/parts.tsx';
import { DeployDialog, type DeploySource } from '../bundles/deploy.tsx';

type Whole = Reply<'getComposition'>;
interface Item {
  readonly id: string;
  readonly mode: '' | 'enforce' | 'observe';
  readonly enabled: boolean;
}

const itemsOf = ({ contracts }: Whole): readonly Item[] =>
  [...contracts]
    .sort((a, b) => a.position - b.position)
    .map((one) => ({ id: one.contract_id, mode: one.mode_override ?? '', enabled: one.enabled }));

export function CompositionDetail({ name }: { readonly name: string }): JSX.Element {
  const found = useCall('getComposition', { params: { name } });
  return (
    <Answer of={found} rows={8}>
      {(composition) => <Edit key={composition.updated_at} composition={composition} />}
    </Answer>
  );
}

function Edit({ composition }: { readonly composition: Whole }): JSX.Element {
  const stored = itemsOf(composition);
  const [items, setItems] = useState(stored);
  const [source, setSource] = useState<DeploySource | null>(null);
  const [preview, setPreview] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const [dragged, setDragged] = useState<number | null>(null);
  const save = useAction('updateComposition', [
    'listCompositions',
    'getComposition',
    'previewComposition',
    'listContracts',
  ]);
  const changed = JSON.stringify(items) !== JSON.stringify(stored);
  useCommand('deploy', () => setSource({ kind: 'composition', name: composition.name }), {
    of: composition.name,
    why: changed ? 'save or undo the changes first' : items.length === 0 ? 'it has no contract' : null,
  });
  const newer = composition.contracts.filter((one) => one.has_newer_version);
  const move = (from: number, to: number): void => {
    const one = items[from];
    if (!one || to < 0 || to >= items.length) return;
    const rest = items.filter((_, index) => index !== from);
    setItems([...rest.slice(0, to), one, ...rest.slice(to)]);
  };
  const change = (index: number, to: Partial<Item>): void =>
    setItems(items.map((one, at) => (at === index ? { ...one, ...to } : one)));
  const submit = (): void =>
    save.mutate(
      {
        params: { name: composition.name },
        body: {
          if_updated_at: composition.updated_at,
          contracts: items.map((one, position) => ({
            contract_id: one.id,
            position,
            mode_override: one.mode === '' ? null : one.mode,
            enabled: one.enabled,
          })),
        },
      } as Input<'updateComposition'>,
      { onSuccess: () => say(`${composition.name} is saved. Deploy it to bring it to agents.`, 'allow') },
    );
  return (
    <>
      {composition.description && (
        <p className="muted">
          <Data text={composition.description} mono={false} max={600} />
        </p>
      )}
      <p className="muted">
        Changed <Time at={composition.updated_at} />. Contracts without a mode of their own{' '}
        {composition.defaults_mode === 'enforce' ? 'enforce' : 'only observe'}.
        {composition.document_kind === 'ruleset' && ' It becomes a ruleset, for agents that load those.'}
        {composition.document_kind === 'bundle' && ' It becomes a bundle of contracts.'}
      </p>
      {newer.length > 0 && !changed && (
        <div className="notice notice-ask">
          <Icon name="triangle" />
          <div>
            <p>
              There are newer versions of {newer.map((one) => one.contract_id).join(', ')}. Saving takes the
              newest of each.
            </p>
          </div>
          <Button busy={save.isPending} onClick={submit}>
            Take the newest
          </Button>
        </div>
      )}
      <ol aria-label="Contracts in order">
        {items.map((item, index) => {
          const known = composition.contracts.find((one) => one.contract_id === item.id);
          return (
            <li
              key={item.id}
              className={`item ${item.enabled ? '' : 'item-off'}`}
              data-dragged={dragged === index}
              draggable
              onDragStart={() => setDragged(index)}
              onDragEnd={() => setDragged(null)}
              onDragOver={(event) => {
                event.preventDefault();
                if (dragged === null || dragged === index) return;
                move(dragged, index);
                setDragged(index);
              }}
            >
              <input
                type="checkbox"
                aria-label={`${item.id} is enabled`}
                checked={item.enabled}
                onChange={() => change(index, { enabled: !item.enabled })}
              />
              <span>
                <Data text={item.id} max={100} />{' '}
                {known && (
                  <span className="muted">
                    {known.contract_type} v{known.contract_version}
                    {known.has_newer_version ? ', a newer one exists' : ''}
                  </span>
                )}
              </span>
              <Select
                compact
                label={`Mode of ${item.id}`}
                value={item.mode}
                options={[
                  ['', 'its own mode'],
                  ['enforce', 'enforce'],
                  ['observe', 'observe'],
                ]}
                onValue={(mode) => change(index, { mode: mode as Item['mode'] })}
              />
              <span className="item-moves">
                <Button
                  kind="quiet"
                  icon="up"
                  aria-label={`Move ${item.id} up`}
                  disabled={index === 0}
                  onClick={() => move(index, index - 1)}
                />
                <Button
                  kind="quiet"
                  icon="down"
                  aria-label={`Move ${item.id} down`}
                  disabled={index === items.length - 1}
                  onClick={() => move(index, index + 1)}
                />
                <Button
                  kind="quiet"
                  icon="x"
                  aria-label={`Take ${item.id} out`}
                  onClick={() => setItems(items.filter((_, at) => at !== index))}
                />
              </span>
            </li>
          );
        })}
      </ol>
      <Add
        taken={items.map(({ id }) => id)}
        onAdd={(id) => setItems([...items, { id, mode: '', enabled: true }])}
      />
      {save.error && <Failed error={save.error} />}
      <div className="decide-buttons starters">
        {changed ? (
          <>
            <Button kind="primary" busy={save.isPending} onClick={submit}>
              Save composition
            </Button>
            <Button onClick={() => setItems(stored)}>Undo changes</Button>
          </>
        ) : (
          <Button
            kind="primary"
            disabled={items.length === 0}
            onClick={() => setSource({ kind: 'composition', name: composition.name })}
          >
            Deploy {composition.name}
          </Button>
        )}
        <Button aria-expanded={preview} onClick={() => setPreview(!preview)}>
          {preview ? 'Hide' : 'Show'} YAML
        </Button>
        <Button kind="danger" icon="trash" onClick={() => setDeleting(true)}>
          Delete
        </Button>
      </div>
      {preview && <Preview name={composition.name} />}
      <DeployDialog source={source} onClose={() => setSource(null)} />
      <Delete name={composition.name} open={deleting} onClose={() => setDeleting(false)} />
    </>
  );
}

function Add({
  taken,
  onAdd,
}: {
  readonly taken: readonly string[];
  readonly onAdd: (id: string) => void;
}): JSX.Element | null {
  const found = useCall('listContracts', { query: { limit: 1000 } });
  const left = (found.data ?? []).filter((one) => !taken.includes(one.contract_id));
  if (left.length === 0) return null;
  return (
    <Select
      label="Add a contract"
      value=""
      options={[
        ['', 'Choose a contract'],
        ...left.map((one) => [one.contract_id, `${one.contract_id} (${one.type})`] as const),
      ]}
      onValue={(id) => id !== '' && onAdd(id)}
    />
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
  name,
  open,
  onClose,
}: {
  readonly name: string;
  readonly open: boolean;
  readonly onClose: () => void;
}): JSX.Element {
  const remove = useAction('deleteComposition', ['listCompositions']);
  const [, change] = useFilters();
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
        <Data text={name} max={120} /> is deleted. Bundles that were made from it stay, and stay deployed.
      </p>
    </Confirm>
  );
}
