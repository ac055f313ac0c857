// One contract: its rule with an editor for a new version, the calls that it decided, past calls that it matches, saved
// cases, uses, versions and deletion.

import { useNavigate } from '@tanstack/react-router';
import { type JSX, useEffect, useState } from 'react';
import { sentenceOf } from '../../../contract/rules.ts';
import { linkTo } from '../../lib/address.ts';
import type { Reply } from '../../lib/api.ts';
import { hasDraft } from '../../lib/drafts.ts';
import { definitionText } from '../../lib/engine.ts';
import { useCall } from '../../lib/query.ts';
import { counted } from '../../lib/text.ts';
import { ActButton } from '../../ui/act-button.tsx';
import { Editor } from '../../ui/editor.tsx';
import { say } from '../../ui/messages.tsx';
import { DataLink, DataParagraph } from '../../ui/names.tsx';
import { Data, Time } from '../../ui/parts.tsx';
import { QueryResult } from '../../ui/query-result.tsx';
import { RemovalDialog } from '../../ui/resource.tsx';
import { QuerySection } from '../../ui/section.tsx';
import { thingPage } from '../../ui/thing-page.tsx';
import { Caught } from './caught.tsx';
import { DecidedCalls } from './decided-calls.tsx';
import { DraftChanges } from './draft-changes.tsx';
import { ContractForm } from './form.tsx';
import { OwnCases } from './own-cases.tsx';
import { Versions } from './versions.tsx';

type Mode = 'read' | 'edit' | 'copy' | 'delete';

const draftName = {
  edit: (id: string) => `contract ${id}`,
  copy: (id: string) => `contract copy ${id}`,
};

/** The form with unsaved texts from an earlier visit. */
const unfinishedMode = (id: string): Mode =>
  hasDraft(draftName.edit(id)) ? 'edit' : hasDraft(draftName.copy(id)) ? 'copy' : 'read';

/** A contract by its id. The page of an entry's id, which events and approvals link to, moves to its contract's. */
function useContract(id: string) {
  const navigate = useNavigate();
  const ownQuery = useCall('getContract', { params: { contract_id: id } });
  const isUnknown = ownQuery.error?.status === 404;
  const entryQuery = useCall(
    'getContract',
    { params: { contract_id: id }, query: { entry: 'true' } },
    { enabled: isUnknown },
  );
  const contractQuery = isUnknown && !entryQuery.error ? entryQuery : ownQuery;
  const contractId = contractQuery.data?.contract_id ?? id;
  useEffect(() => {
    if (contractId !== id) void navigate({ ...linkTo.contract(contractId), replace: true });
  }, [contractId, id, navigate]);
  return contractQuery;
}

export function ContractDetail({
  id,
  isPeek = false,
}: {
  readonly id: string;
  /** Without forms and actions. */
  readonly isPeek?: boolean;
}): JSX.Element {
  const contractQuery = useContract(id);
  const navigate = useNavigate();
  const [mode, setMode] = useState<Mode>(() => (isPeek ? 'read' : unfinishedMode(id)));
  /** An older definition as the form's initial text. */
  const [again, setAgain] = useState<object | null>(null);
  /** The version that this visit saved. */
  const [savedVersion, setSavedVersion] = useState<number | null>(null);
  const read = (): void => {
    setMode('read');
    setAgain(null);
  };
  return (
    <QueryResult query={contractQuery} rows={8}>
      {(contract) =>
        mode === 'edit' || mode === 'copy' ? (
          <ContractForm
            contract={contract}
            draft={again === null ? undefined : { ...contract, definition: again }}
            copy={mode === 'copy'}
            draftName={draftName[mode](id)}
            onClose={read}
            onDone={(savedId, version) => {
              say(mode === 'copy' ? `${savedId} added.` : `New version of ${savedId} saved.`, 'allow');
              if (mode === 'edit') setSavedVersion(version);
              read();
              if (savedId !== id) void navigate({ ...linkTo.contract(savedId) });
            }}
          />
        ) : (
          <>
            <p>
              <Data text={contract.name} mono={false} /> <span className="tag">{contract.type}</span> version{' '}
              {contract.version}, changed <Time at={contract.created_at} /> by{' '}
              <Data text={contract.created_by} mono={false} max={60} />
            </p>
            {!isPeek && <Acts onMode={setMode} />}
            {savedVersion !== null && <DraftChanges id={id} version={savedVersion} />}
            <div className="columns-two">
              <Rule key={contract.version} contract={contract} />
              {!isPeek && <Cases key={`${contract.version} calls`} id={id} contract={contract} />}
              <div className="form">
                <DecidedCalls id={id} />
                <Usage id={id} />
                {!isPeek && (
                  <Versions
                    id={id}
                    latest={contract}
                    versions={contract.versions}
                    onAgain={(definition) => {
                      setAgain(definition);
                      setMode('edit');
                    }}
                  />
                )}
              </div>
            </div>
            <Delete {...{ id, contract }} open={mode === 'delete'} onClose={() => setMode('read')} />
          </>
        )
      }
    </QueryResult>
  );
}

type Contract = Reply<'getContract'>;

/** The contract as a sentence, and its text. */
const Rule = ({
  contract: { type, definition, description },
}: {
  readonly contract: Contract;
}): JSX.Element => (
  <div className="form">
    <DataParagraph text={sentenceOf(type, definition)} mono={false} max={240} />
    <DataParagraph className="muted" text={description} mono={false} max={1_000} />
    <Editor label="Definition as YAML" value={definitionText(definition)} />
  </div>
);

function Cases({
  id,
  contract: { type, definition },
}: Readonly<{ id: string; contract: Contract }>): JSX.Element {
  const text = definitionText(definition);
  return (
    <div className="form">
      <Caught id={id} type={type} text={text} broken={false} />
      {/* Results belong to one definition. */}
      <OwnCases key={text} id={id} type={type} definition={definition} text={text} />
    </div>
  );
}

const Acts = ({ onMode }: { readonly onMode: (mode: Mode) => void }): JSX.Element => (
  <div className="decide-buttons">
    <ActButton operation="updateContract" kind="primary" onClick={() => onMode('edit')}>
      Edit contract
    </ActButton>
    <ActButton operation="createContract" icon="copy" onClick={() => onMode('copy')}>
      Duplicate
    </ActButton>
    <ActButton operation="deleteContract" kind="danger" icon="trash" onClick={() => onMode('delete')}>
      Delete
    </ActButton>
  </div>
);

function Usage({ id }: { readonly id: string }): JSX.Element {
  const contractUsageQuery = useCall('contractUsage', { params: { contract_id: id } });
  return (
    <QuerySection
      title="Compositions"
      query={contractUsageQuery}
      rows={1}
      none={(list) =>
        list.length === 0 &&
        'Not used in any composition, so no agent has it. To use it, add it to a composition.'
      }
    >
      {(list) => (
        <ul className="feed">
          {list.map((one) => (
            <li key={one.composition_id} className="feed-row">
              <DataLink link={linkTo.composition(one.composition_name)} text={one.composition_name} />
            </li>
          ))}
        </ul>
      )}
    </QuerySection>
  );
}

function Delete({
  id,
  contract: { version, usage_count: usage },
  open,
  onClose,
}: Readonly<{ id: string; contract: Contract; open: boolean; onClose: () => void }>): JSX.Element {
  const navigate = useNavigate();
  const done = (): void => {
    say(`${id} deleted.`, 'allow');
    void navigate({ to: '/policies', replace: true });
  };
  return (
    <RemovalDialog
      operation="deleteContract"
      refreshes={['listContracts', 'listContractTags', 'getContract']}
      title="Delete contract"
      input={{ params: { contract_id: id }, ifMatch: String(version) }}
      {...{ open, onClose }}
      onDone={done}
    >
      Deleting <Data text={id} /> removes all its versions permanently.{' '}
      {usage > 0 && `First remove it from ${counted(usage, 'composition')}.`} Bundles that contain it remain.
    </RemovalDialog>
  );
}

export default thingPage('Contract', { to: '/policies', label: 'View all contracts' }, ContractDetail);
