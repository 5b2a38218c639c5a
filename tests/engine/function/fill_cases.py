#!/usr/bin/env python3
"""Writes PostgreSQL's answers into the case files of kernel_cases_test.

    fill_cases.py FILE... -- psql arguments    (a PostgreSQL 15 server, lc_collate C, lc_ctype C.UTF-8, timezone UTC)

Each line of a file is CASE or CASE => ANSWER; the answer is replaced. Lines that begin with '#' and empty ones stay, and
so do lines that end in " (ours)": there we differ on purpose. See kernel_cases_test.cc for the format of a case.
"""
import subprocess
import sys

TRY = r"""
create function pg_temp.attempt(expression text) returns text language plpgsql as $f$
declare answer text;
begin
  execute expression into answer;
  return case when answer is null then 'NULL' else answer end;
exception when others then
  return 'ERROR ' || sqlstate || ' ' || sqlerrm;
end $f$;
"""


def unescape(text):
    out, i = [], 0
    while i < len(text):
        if text[i] == '\\':
            i += 1
            out.append({'n': '\n', 't': '\t', 's': ' ', 'p': '|', '\\': '\\'}[text[i]])
        else:
            out.append(text[i])
        i += 1
    return ''.join(out)


def escape(text):
    text = text.replace('\\', '\\\\').replace('\n', '\\n').replace('\t', '\\t').replace('|', '\\p')
    if text.startswith(' '):
        text = '\\s' + text[1:]
    if text.endswith(' '):
        text = text[:-1] + '\\s'
    return text


def literal(type_name, value):
    if value == 'NULL':
        return 'NULL::' + type_name
    return "('" + unescape(value).replace("'", "''") + "'::" + type_name + ')'


def expression(case):
    kind, *fields = case.split(' | ')
    words = kind.split(' ')
    if words[0] == 'agg':
        rows = ', '.join('(' + literal(words[2], value) + ')' for value in fields)
        return 'select ' + words[1] + '(x) as x from (values ' + rows + ') v(x)'
    args = [literal(*field.split(':', 1)) for field in fields]
    if words[0] == 'fn':
        name = words[1]
        if name in ('position', 'overlay', 'substring', 'extract', 'timezone'):
            name = 'pg_catalog.' + name
        return 'select %s(%s) as x' % (name, ', '.join(args))
    if words[0] == 'op':
        symbol = unescape(words[1])
        return 'select %s as x' % (symbol + args[0] if len(args) == 1 else (' ' + symbol + ' ').join(args))
    assert words[0] == 'cast', case
    return 'select %s::%s as x' % (args[0], ' '.join(words[1:]))


def main():
    split = sys.argv.index('--')
    for path in sys.argv[1:split]:
        lines = open(path, encoding='utf-8').read().split('\n')
        cases = [(i, line.split(' => ')[0]) for i, line in enumerate(lines)
                 if line and not line.startswith('#') and not line.endswith(' (ours)')]
        sql = TRY + '\n'.join(
            "select pg_temp.attempt($q$select case when x is null then null else concat(x) end from (%s) s$q$) || '\x01';"
            % expression(case) for _, case in cases)
        run = subprocess.run(['psql', '-X', '-q', '-A', '-t', *sys.argv[split + 1:]], input=sql, text=True,
                             capture_output=True, check=True)
        answers = run.stdout.split('\x01\n')[:-1]
        assert len(answers) == len(cases), run.stderr
        for (i, case), answer in zip(cases, answers):
            lines[i] = case + ' => ' + escape(answer)
        open(path, 'w', encoding='utf-8').write('\n'.join(lines))


main()
