// The menu of a table: visible and pinned columns, and *Download rows as CSV*.
import { Menu } from '@base-ui/react/menu';
import type { RowData } from '@tanstack/react-table';
import type { JSX } from 'react';
import { csvCell } from '../../shared/csv-cell.ts';
import { download } from './download.ts';
import { Icon } from './icons.tsx';
import { MenuPopup, MenuSwitch, MenuTick } from './menu.tsx';
import type { Layout } from './table-layout.ts';
import { type Column, type Model, textOf } from './table-model.ts';

export function TableMenu<R extends RowData>({
  name,
  model,
  visibleColumns,
  layout,
}: Readonly<{
  name: string;
  model: Model<R>;
  visibleColumns: readonly Column<R>[];
  layout: Layout;
}>): JSX.Element {
  const csv = (): void => {
    const lines = [
      visibleColumns.map(({ label }) => csvCell(label)),
      ...model
        .getRowModel()
        .rows.map(({ original }) => visibleColumns.map((column) => csvCell(textOf(column, original)))),
    ];
    download(`${name}.csv`, 'text/csv', lines.map((line) => line.join(',')).join('\n'));
  };
  return (
    <Menu.Root>
      <Menu.Trigger className="button button-quiet" aria-label={`Columns for ${name}`}>
        <Icon name="columns" />
      </Menu.Trigger>
      <MenuPopup>
        {model
          .getAllLeafColumns()
          .filter((column) => column.getCanHide())
          .map((column) => (
            <MenuSwitch
              key={column.id}
              label={String(column.columnDef.header)}
              isOn={column.getIsVisible()}
              onChange={(isOn) => column.toggleVisibility(isOn)}
            />
          ))}
        <Menu.Separator className="menu-line" />
        <Menu.SubmenuRoot>
          <Menu.SubmenuTrigger className="menu-item row">
            <MenuTick icon="right" />
            Pinned columns
          </Menu.SubmenuTrigger>
          <MenuPopup>
            {visibleColumns.slice(1).map(({ key, label }) => (
              <MenuSwitch
                key={key}
                label={label}
                isOn={layout.isPinned(key)}
                onChange={(isOn) => layout.pin(key, isOn)}
              />
            ))}
          </MenuPopup>
        </Menu.SubmenuRoot>
        <Menu.Separator className="menu-line" />
        <Menu.Item className="menu-item row" onClick={csv}>
          <MenuTick icon="download" />
          Download rows as CSV
        </Menu.Item>
      </MenuPopup>
    </Menu.Root>
  );
}
