'use strict';
/* What the page does beyond showing: fold subtrees, follow a row, show the nodes of a rule.
   Text from the data is only ever set as text; nothing is parsed as markup or as code. */
(function () {
  const given = JSON.parse(document.getElementById('data').textContent);
  const picture = document.querySelector('#picture svg');
  if (!given.nodes || !picture) { return; }
  const nodes = given.nodes;
  const groups = new Map();
  picture.querySelectorAll('g[data-node]').forEach(function (group) {
    groups.set(Number(group.dataset.node), group);
  });
  const arcs = Array.from(picture.querySelectorAll('[data-from]'));
  const rowsOf = new Map();
  document.querySelectorAll('tr[data-row]').forEach(function (row) {
    rowsOf.set(Number(row.dataset.row), row);
  });
  const folded = new Set();
  const whole = picture.getAttribute('viewBox');
  const box = new Map();
  groups.forEach(function (group, at) {
    const rect = group.querySelector('rect');
    box.set(at, {
      x: Number(rect.getAttribute('x')), y: Number(rect.getAttribute('y')),
      width: Number(rect.getAttribute('width')), height: Number(rect.getAttribute('height')),
    });
  });
  const splits = nodes.map(function (_, at) { return at; })
    .filter(function (at) { return 'yes' in nodes[at]; });

  /* ---- folding */

  function reachable(closed) {
    const seen = new Set([given.root]);
    const waiting = [given.root];
    while (waiting.length) {
      const at = waiting.pop();
      if (!('yes' in nodes[at]) || closed.has(at)) { continue; }
      [nodes[at].yes, nodes[at].no].forEach(function (child) {
        if (!seen.has(child)) { seen.add(child); waiting.push(child); }
      });
    }
    return seen;
  }

  function hide(element, yes) {
    if (element) { element.toggleAttribute('hidden', yes); element.style.display = yes ? 'none' : ''; }
  }

  function below(at) {
    const others = new Set(folded);
    others.delete(at);
    const all = reachable(others).size;
    return all - reachable(new Set([...others, at])).size;
  }

  function showFolds() {
    const seen = reachable(folded);
    groups.forEach(function (group, at) { hide(group, !seen.has(at)); });
    rowsOf.forEach(function (row, at) { hide(row, !seen.has(at)); });
    arcs.forEach(function (arc) {
      const from = Number(arc.dataset.from);
      hide(arc, !seen.has(from) || folded.has(from));
    });
    splits.forEach(function (at) {
      const group = groups.get(at);
      group.setAttribute('aria-expanded', String(!folded.has(at)));
      badge(group, at, folded.has(at) && seen.has(at) ? below(at) : 0);
    });
    if (given.kind === 'tree') { place(seen); }
  }

  function badge(group, at, count) {
    const old = group.querySelector('.count');
    if (old) { old.remove(); }
    if (!count) { return; }
    const text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
    const where = box.get(at);
    text.setAttribute('class', 'count');
    text.setAttribute('x', String(where.x + where.width / 2));
    text.setAttribute('y', String(where.y + where.height + 15));
    text.setAttribute('text-anchor', 'middle');
    text.textContent = '+ ' + count + (count === 1 ? ' node' : ' nodes');
    group.appendChild(text);
  }

  /* A folded tree is laid out again: subtrees side by side, a parent midway above its two. */
  function place(seen) {
    const middle = new Map();
    const open = function (at) { return 'yes' in nodes[at] && !folded.has(at); };
    function width(at) {
      const own = box.get(at).width;
      return open(at) ? Math.max(own, width(nodes[at].yes) + 18 + width(nodes[at].no)) : own;
    }
    function put(at, left) {
      if (!open(at)) { middle.set(at, left + width(at) / 2); return; }
      const both = width(nodes[at].yes) + 18 + width(nodes[at].no);
      const start = left + (width(at) - both) / 2;
      put(nodes[at].yes, start);
      put(nodes[at].no, start + width(nodes[at].yes) + 18);
      middle.set(at, (middle.get(nodes[at].yes) + middle.get(nodes[at].no)) / 2);
    }
    if (!folded.size) {
      groups.forEach(function (group) { group.removeAttribute('transform'); });
      arcs.forEach(restore);
      size(whole);
      return;
    }
    put(given.root, 0);
    let low = 0, high = 0, deep = 0;
    seen.forEach(function (at) {
      const where = box.get(at);
      const shift = middle.get(at) - (where.x + where.width / 2);
      groups.get(at).setAttribute('transform', 'translate(' + shift + ' 0)');
      low = Math.min(low, middle.get(at) - where.width / 2);
      high = Math.max(high, middle.get(at) + where.width / 2);
      deep = Math.max(deep, where.y + where.height);
    });
    arcs.forEach(function (arc) { redraw(arc, middle); });
    size((low).toFixed(1) + ' 0 ' + (high - low + 32).toFixed(1) + ' ' + (deep + 52).toFixed(1));
    hide(picture.querySelector('.key'), true);
    picture.querySelectorAll('.key').forEach(function (key) { hide(key, true); });
  }

  function size(view) {
    const parts = view.split(' ');
    picture.setAttribute('viewBox', view);
    picture.setAttribute('width', parts[2]);
    picture.setAttribute('height', parts[3]);
    const page = picture.querySelector('.page');
    page.setAttribute('x', parts[0]);
    picture.querySelectorAll('.key').forEach(function (key) { hide(key, false); });
    readable();
  }

  arcs.forEach(function (arc) {
    arc.dataset.d = arc.getAttribute('d') || '';
    arc.dataset.x = arc.getAttribute('x') || '';
  });

  function restore(arc) {
    if (arc.dataset.d) { arc.setAttribute('d', arc.dataset.d); }
    if (arc.dataset.x) { arc.setAttribute('x', arc.dataset.x); }
  }

  function redraw(arc, middle) {
    const from = Number(arc.dataset.from), to = Number(arc.dataset.to);
    if (!middle.has(from) || !middle.has(to)) { return; }
    const x = middle.get(from), end = middle.get(to);
    if (arc.tagName === 'path') {
      const top = box.get(from).y + box.get(from).height, down = box.get(to).y;
      arc.setAttribute('d', 'M' + x + ' ' + top + 'V' + (down - 22) + 'H' + end + 'V' + down);
    } else {
      arc.setAttribute('x', String(end + (arc.dataset.side === 'yes' ? -5 : 5)));
    }
  }

  /* A picture is not made smaller than three fifths to fit: then it scrolls. */
  function readable() {
    const natural = Number(picture.getAttribute('width'));
    picture.style.minWidth = picture.classList.contains('full') ? '' : 0.6 * natural + 'px';
  }

  function toggle(at) {
    if (folded.has(at)) { folded.delete(at); } else { folded.add(at); }
    showFolds();
  }

  function unfoldTo(wanted) {
    /* Whatever hides a node that is to be seen is opened. */
    let hidden = wanted.filter(function (at) { return !reachable(folded).has(at); });
    while (hidden.length && folded.size) {
      const target = hidden[0];
      splits.forEach(function (at) {
        if (folded.has(at) && reaches(at, target)) { folded.delete(at); }
      });
      hidden = wanted.filter(function (at) { return !reachable(folded).has(at); });
    }
    showFolds();
  }

  function reaches(from, to) {
    const waiting = [from];
    const seen = new Set();
    while (waiting.length) {
      const at = waiting.pop();
      if (at === to) { return true; }
      if (seen.has(at) || !('yes' in nodes[at])) { continue; }
      seen.add(at);
      waiting.push(nodes[at].yes, nodes[at].no);
    }
    return false;
  }

  /* ---- marks */

  function clear(name) {
    document.querySelectorAll('.' + name).forEach(function (one) { one.classList.remove(name); });
  }

  function showNodes(numbers) {
    clear('ruled');
    unfoldTo(numbers);
    numbers.forEach(function (at) {
      groups.get(at).classList.add('ruled');
      if (rowsOf.has(at)) { rowsOf.get(at).classList.add('ruled'); }
    });
  }

  /* ---- a row */

  function answer(node, cells) {
    if (node.test === 'plane') {
      let total = 0;
      for (const [feature, weight, place] of node.weights) {
        const cell = cells[feature];
        if (cell === null) { return null; }
        total += weight * (place === null ? cell : cell === place ? 1 : 0);
      }
      return total < node.bound;
    }
    const cell = cells[node.feature];
    if (cell === null) { return node.missing; }
    if (node.test === 'equal') { return cell === node.value; }
    if (node.test === 'at most') {
      const coded = given.features[node.feature].kind !== 'number';
      return (!coded || cell >= 0) && cell <= node.value;
    }
    const high = node.high === null || (node.closed ? cell <= node.high : cell < node.high);
    return (node.low === null || cell >= node.low) && high;
  }

  function follow(cells) {
    const path = [];
    let at = given.root;
    while ('yes' in nodes[at]) {
      const yes = answer(nodes[at], cells);
      if (yes === null) { return { path: path, at: at, end: null }; }
      path.push({ node: at, yes: yes });
      at = yes ? nodes[at].yes : nodes[at].no;
    }
    return { path: path, at: at, end: at };
  }

  function light(cells) {
    const found = follow(cells);
    clear('on');
    unfoldTo([found.at]);
    const passed = found.path.map(function (step) { return step.node; }).concat([found.at]);
    passed.forEach(function (at) {
      groups.get(at).classList.add('on');
      if (rowsOf.has(at)) { rowsOf.get(at).classList.add('on'); }
    });
    found.path.forEach(function (step) {
      arcs.forEach(function (arc) {
        const same = Number(arc.dataset.from) === step.node;
        if (same && arc.dataset.side === (step.yes ? 'yes' : 'no')) { arc.classList.add('on'); }
      });
    });
    tell(found, cells);
    return found;
  }

  function ruled(names) { return names.length ? '   (rules: ' + names.join(', ') + ')' : ''; }

  function tell(found, cells) {
    const list = document.getElementById('told');
    list.replaceChildren();
    function line(words, kind) {
      const item = document.createElement('li');
      item.textContent = words;
      if (kind) { item.className = kind; }
      list.appendChild(item);
    }
    found.path.forEach(function (step) {
      const node = nodes[step.node];
      line('#' + step.node + '  ' + node.asks + ': ' + (step.yes ? 'yes' : 'no') +
        said(node, cells) + ruled(node.rules));
    });
    if (found.end === null) {
      line('#' + found.at + ' weighs a cell that is missing: the row cannot go on', 'end');
    } else {
      line('#' + found.end + '  predicts ' + nodes[found.end].text + ruled(nodes[found.end].rules), 'end');
    }
  }

  function said(node, cells) {
    if (node.test === 'plane') { return ''; }
    const feature = given.features[node.feature], cell = cells[node.feature];
    const value = cell === null ? 'missing'
      : feature.kind === 'number' ? String(cell) : cell < 0 ? 'none of the levels' : feature.levels[cell];
    return ' (' + feature.name + ' is ' + value + ')';
  }

  /* ---- the form */

  function make(name, attributes, parts) {
    const element = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      element.setAttribute(key, attributes[key]);
    });
    (parts || []).forEach(function (part) { element.append(part); });
    return element;
  }

  function control(feature, at) {
    if (feature.kind === 'number') {
      return make('input', { type: 'number', step: 'any', placeholder: 'missing', 'data-cell': at });
    }
    const options = [make('option', { value: '' }, ['missing'])];
    feature.levels.forEach(function (level, code) {
      options.push(make('option', { value: code }, [level]));
    });
    if (feature.kind !== 'ordered') {
      options.push(make('option', { value: '-2' }, ['another value']));
    }
    return make('select', { 'data-cell': at }, options);
  }

  function cellsTyped() {
    return Array.from(form.querySelectorAll('[data-cell]')).map(function (input) {
      return input.value === '' ? null : Number(input.value);
    });
  }

  function fill(at) {
    given.rows.cells.forEach(function (column, feature) {
      const input = form.querySelector('[data-cell="' + feature + '"]');
      input.value = column[at] === null ? '' : String(column[at]);
    });
  }

  const form = document.getElementById('follow');
  const fields = make('div', { class: 'fields' });
  const picked = make('input', { type: 'text', id: 'row', list: 'names', autocomplete: 'off' });
  if (given.rows && given.rows.names.length) {
    const names = given.rows.names;
    const some = names.length < given.rows.all
      ? ' (' + names.length + ' of ' + given.rows.all + ' are here)' : '';
    fields.append(make('label', {}, ['row' + some, picked]));
    fields.append(make('datalist', { id: 'names' }, names.slice(0, 200).map(
      function (name) { return make('option', { value: name }); })));
  }
  given.features.forEach(function (feature, at) {
    fields.append(make('label', {}, [feature.name, control(feature, at)]));
  });
  const note = make('p', { id: 'actual', class: 'hint' });
  form.append(make('h3', {}, ['Follow a row']),
    make('p', { class: 'hint' }, ['Choose a row by its name, or give the cells: the path lights up.']),
    fields, note, make('ol', { id: 'told', 'aria-live': 'polite' }));

  form.addEventListener('submit', function (event) { event.preventDefault(); });
  form.addEventListener('input', changed);
  form.addEventListener('change', changed);
  function changed(event) {
    note.textContent = '';
    if (event.target === picked) {
      const at = given.rows.names.indexOf(picked.value.trim());
      if (picked.value === '' || at < 0) {
        note.textContent = picked.value === '' ? '' : 'There is no such row here.';
        return;
      }
      fill(at);
      note.textContent = 'Row ' + picked.value + ' is ' + given.targets.join(', ') + ' ' +
        given.rows.actual[at] + ' in the ' +
        (at < given.rows.names.length - given.rows.tests ? 'training' : 'test') + ' data.';
      light(given.rows.cells.map(function (column) { return column[at]; }));
      return;
    }
    picked.value = '';
    light(cellsTyped());
  }

  /* ---- what starts it all */

  splits.forEach(function (at) {
    const group = groups.get(at);
    group.classList.add('split');
    group.setAttribute('tabindex', '0');
    group.setAttribute('role', 'button');
    group.setAttribute('aria-expanded', 'true');
    group.setAttribute('aria-label', '#' + at + ' ' + nodes[at].asks + '?');
    group.addEventListener('click', function () { toggle(at); });
  });
  picture.setAttribute('role', 'group');
  picture.addEventListener('keydown', function (event) {
    const group = event.target.closest('g[data-node]');
    if (!group) { return; }
    const at = Number(group.dataset.node);
    if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      toggle(at);
      return;
    }
    const next = neighbour(at, event.key);
    if (next !== undefined && groups.get(next).hasAttribute('tabindex')) {
      event.preventDefault();
      groups.get(next).focus();
    }
  });

  function neighbour(at, key) {
    if (key === 'ArrowUp') {
      return splits.find(function (one) { return nodes[one].yes === at || nodes[one].no === at; });
    }
    if (folded.has(at)) { return undefined; }
    if (key === 'ArrowLeft') { return nodes[at].yes; }
    return key === 'ArrowRight' || key === 'ArrowDown' ? nodes[at].no : undefined;
  }

  document.addEventListener('click', function (event) {
    const link = event.target.closest('a[data-rule],a[data-show]');
    if (!link) { return; }
    if (link.dataset.show !== undefined) { showNodes([Number(link.dataset.show)]); return; }
    const at = Number(link.dataset.rule);
    showNodes(given.rules[at].nodes);
    clear('chosen');
    document.querySelectorAll('[data-audit="' + at + '"]').forEach(function (row) {
      row.classList.add('ruled');
    });
  });

  document.getElementById('unfold').addEventListener('click', function () {
    folded.clear();
    showFolds();
  });
  document.getElementById('fold').addEventListener('click', function () {
    splits.forEach(function (at) { if (at !== given.root) { folded.add(at); } });
    showFolds();
  });
  document.getElementById('size').addEventListener('click', function (event) {
    const full = picture.classList.toggle('full');
    event.target.setAttribute('aria-pressed', String(full));
    readable();
  });
  document.getElementById('clear').addEventListener('click', function () {
    clear('on');
    clear('ruled');
    document.getElementById('told').replaceChildren();
    note.textContent = '';
    picked.value = '';
  });

  let before = new Set();
  window.addEventListener('beforeprint', function () {
    before = new Set(folded);
    folded.clear();
    showFolds();
    picture.style.minWidth = '';
    document.querySelectorAll('details').forEach(function (one) { one.open = true; });
  });
  window.addEventListener('afterprint', function () {
    before.forEach(function (at) { folded.add(at); });
    showFolds();
    readable();
  });

  /* What is too wide for the page can be scrolled by the keys. */
  function scrollable() {
    document.querySelectorAll('.scroll, pre').forEach(function (one) {
      if (one.scrollWidth > one.clientWidth) { one.setAttribute('tabindex', '0'); }
      else { one.removeAttribute('tabindex'); }
    });
  }
  window.addEventListener('resize', scrollable);
  document.getElementById('tools').hidden = false;
  form.hidden = !given.features.length;
  readable();
  scrollable();
  /* For tests: where the script leads every row that the page holds. */
  window.odtReport = { follow: function (cells) { return follow(cells).end; }, given: given };
})();
