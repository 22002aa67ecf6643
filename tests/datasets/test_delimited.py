import pytest

from datasets.readers.delimited import read_columns
from datasets.readers.text_format import LABEL_ROLES, TRIPLE_ROLES, Format
from quatre_tf.errors import DataError

ABC = [("a", "r", "b"), ("c", "r", "d")]
MARK = b"\xef\xbb\xbf"


def read(path, content, roles=TRIPLE_ROLES, **known):
    path.write_bytes(content)
    table, layout = read_columns(path, roles, Format(**known))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)), layout


@pytest.mark.parametrize(
    ("content", "known", "expected"),
    [
        (b"a\tr\tb\nc\tr\td\n", {}, ABC),
        (b"a,r,b\nc,r,d\n", {}, ABC),
        (b"a;r;b\nc;r;d\n", {}, ABC),
        (b"a|r|b\nc|r|d", {}, ABC),
        (b"a r b\nc r d\n", {}, ABC),
        (b"a,r,b\r\nc,r,d\r\n", {}, ABC),
        (MARK + b"a,r,b\nc,r,d\n", {}, ABC),
        (b"a,r,b\n\n\nc,r,d\n\n", {}, ABC),
        (b"head,relation,tail\na,r,b\nc,r,d\n", {}, ABC),
        (b"subject\tpredicate\tobject\na\tr\tb\nc\tr\td\n", {}, ABC),
        (b"Source;Target;Relation Type\na;b;r\nc;d;r\n", {}, ABC),
        (b":START_ID,:END_ID,:TYPE\na,b,r\nc,d,r\n", {}, ABC),
        (b'"head","relation","tail"\n"a","r","b"\n"c","r","d"\n', {}, ABC),
        (b'"head"\t"relation"\t"tail"\na\tr\tb\nc\tr\td\n', {}, ABC),
        (b"id,weight,tail,head,relation\n1,.5,b,a,r\n2,,d,c,r\n", {}, ABC),
        (b"b,a,r\nd,c,r\n", {"columns": ["tail", "head", "relation"]}, ABC),
        (b"x,b,a,r\nx,d,c,r\n", {"columns": ["3", "4", "2"]}, ABC),
        (b"Who,What,Whom\na,r,b\nc,r,d\n", {"columns": ["Who", "What", "Whom"]}, ABC),
        (b"Who,What,Whom\na,r,b\nc,r,d\n", {"header": True}, ABC),
        # Ids of the first line are no names of columns.
        (b"2,1,0\n3,1,5\n", {"columns": ["3", "2", "1"]}, [("0", "1", "2"), ("5", "1", "3")]),
        (b"3,2,1\n6,5,4\n", {"header": False, "columns": ["1", "2", "3"]},
         [("3", "2", "1"), ("6", "5", "4")]),
        # Where a header has them, the words for the roles are its names.
        (b"relation,head,tail\nr,a,b\nr,c,d\n", {"columns": ["head", "relation", "tail"]}, ABC),
        (b"relation,head,tail\na,r,b\n", {"header": False, "columns": ["head", "relation", "tail"]},
         [("relation", "head", "tail"), ("a", "r", "b")]),
        (b"h,r,t\na,r,b\n", {"header": False}, [("h", "r", "t"), ("a", "r", "b")]),
        (b"a;r;b,c\nc;r;d\n", {"delimiter": "semicolon"}, [("a", "r", "b,c"), ("c", "r", "d")]),
        (b"a#r#b\nc#r#d\n", {"delimiter": "#"}, ABC),
        (b'"Smith, Jo",r,"5"" nail"\nc,r,d\n', {}, [("Smith, Jo", "r", '5" nail'), ABC[1]]),
        (b'5" nail,r,b\nc,r,d\n', {}, [('5" nail', "r", "b"), ABC[1]]),
        # Between TABs quotes and commas are part of the name.
        (b'"a, x"\tr\tb\nc\tr\td\n', {}, [('"a, x"', "r", "b"), ABC[1]]),
        (b"a, r, b\nc, r, d\n", {}, [("a", " r", " b"), ("c", " r", " d")]),
        (b"a, r, b \nc, r, d\n", {"strip": True}, ABC),
        (b"a,r,b\nc,r ,d\n", {"strip": True}, ABC),
        # A spreadsheet has empty rows.
        (b"a,r,b\n,,\nc,r,d\n , ,\n", {}, ABC),
        (b",,\nsubject,object,predicate\na,b,r\nc,d,r\n", {}, ABC),
        (b",,\na,r,b\nc,r,d\n", {}, ABC),
        (b"NA,null,-1\nc,r,d\n", {}, [("NA", "null", "-1"), ABC[1]]),
        (b"a,r,b\rc,r,d\r", {}, ABC),
        (b"\n" * 70_000 + b"a,r,b\nc,r,d\n", {}, ABC),
        (b"\r\n\nhead,relation,tail\na,r,b\nc,r,d\n", {}, ABC),
        (b"head,relation,tail,head\na,r,b,x\nc,r,d,x\n", {}, ABC),
        # Triples that share words with the header.
        (b"head,relation,tail\nhead,relation,b\na,relation,tail\n", {},
         [("head", "relation", "b"), ("a", "relation", "tail")]),
        # A column that nobody asked for may hold anything.
        (b'head,relation,tail,note\na,r,b,"two\nlines"\nc,r,d,\n', {}, ABC),
        # The space in names does not make it space separated, nor do commas in TAB separated ones.
        (b"New York,in,USA\nOld Town,in,Nowhere Land\n", {},
         [("New York", "in", "USA"), ("Old Town", "in", "Nowhere Land")]),
        (b"a,b,c\tr\tb,c,d\ne,f,g\tr\td,e,f\n", {},
         [("a,b,c", "r", "b,c,d"), ("e,f,g", "r", "d,e,f")]),
    ],
)  # fmt: skip
def test_formats(tmp_path, content, known, expected):
    assert read(tmp_path / "x.csv", content, **known)[0] == expected


def test_what_was_detected_is_said(tmp_path):
    _, layout = read(tmp_path / "a.csv", b"subject;object;predicate\na;b;r\n")
    assert str(layout) == "semicolon separated, header, columns subject, predicate, object"
    _, layout = read(tmp_path / "b.csv", b"a\tr\tb\n")
    assert str(layout) == "tab separated, no header, columns 1, 2, 3"


@pytest.mark.parametrize(
    ("content", "known"),
    [
        (b"name,label\nQ1,Universe\n", {}),
        (b"id\tname\ttype\nQ1\tUniverse\tthing\n", {}),
        (b"Q1,Universe,thing\n", {}),
        (b"label;iri\nUniverse;Q1\n", {}),
    ],
)
def test_labels(tmp_path, content, known):
    assert read(tmp_path / "x.csv", content, LABEL_ROLES, **known)[0] == [("Q1", "Universe")]


@pytest.mark.parametrize(
    ("content", "known", "message"),
    [
        (b"", {}, "expected head, relation, tail in each line, received an empty file"),
        (
            b"only words here and there\nfew\n",
            {"delimiter": ","},
            "expected a header .* received 1",
        ),
        (
            b"head,relation,tail\n",
            {},
            "expected head, relation, tail in each line, .* a header alone",
        ),
        # A delimiter that is not named has to fit more than half of the lines.
        (b"a,r,b\nc,r,d\nwords\nmore, words\n", {}, "expected at least 3 fields in each line"),
        (b"a,r,b\nc,r\n", {"delimiter": ","}, r"x.csv:2: expected 3 fields .* received 2: 'c,r'"),
        (b"a,r,b\nc,,d\n", {}, "x.csv:2: expected a name for the relation, received none"),
        (b"a,r,b\nc,r, \n", {}, "x.csv:2: expected a name for the tail, received none"),
        (b'a,r,b\n"c\nx",r,d\ne,r,f\n', {}, r"x.csv:2: expected a head without TAB, line break"),
        (b"a,r,b\nc,r,caf\xe9\n", {}, "x.csv:2: expected UTF-8 text, .*iconv"),
        ("a,\u00a0,b\n".encode(), {"strip": True}, "x.csv:1: expected a name for the relation"),
        (
            b'a,r,b\n"c,r,d\ne,r,f\n',
            {},
            "at least 3 fields in each line, .* quote that is not closed",
        ),
        (b"PK\x03\x04\x14\0\0\0", {}, "x.csv:1: expected UTF-8 text, received a NUL"),
        (
            b"a,r,b\n",
            {"columns": ["1", "1", "2"]},
            "another column for each of .* received 1, 1, 2",
        ),
        (b"a,r,b\n", {"columns": ["1", "2"]}, "Expected 3 columns .* received 1, 2"),
        (b"a,r,b\n", {"columns": ["0", "1", "2"]}, "numbered from 1, received 0"),
        (
            b"a,r,b\nc,r,d\n",
            {"columns": ["a", "r", "b"], "header": False},
            "without a header, columns have numbers from 1. Received --noheader and --columns=a, r",
        ),
        # Files that were joined.
        (b"head,relation,tail\na,r,b\nHead, Relation, TAIL\n", {}, "x.csv:3: the header is there"),
        (b"id,head,relation,tail\n1,a,r,b\nid,head,relation,tail\n", {}, "x.csv:3: the header is"),
        (MARK + b"h,r,t\na,r,b\n" + MARK + b"h,r,t\n", {}, "x.csv:3: .* byte order mark"),
        (MARK + b"a,r,b\n" + MARK + b"a,r,c\n", {}, "x.csv:2: expected a byte order mark at the"),
        (b"a,r,b\n" + MARK + b'"a",r,c\n', {}, "x.csv:2: expected a byte order mark at the start"),
    ],
)
def test_errors(tmp_path, content, known, message):
    with pytest.raises(DataError, match=message) as error:
        read(tmp_path / "x.csv", content, **known)
    assert "\n" not in str(error.value)


def test_further_lines_to_mend_are_listed(tmp_path):
    with pytest.raises(DataError, match=r"x.csv:2: .*\. Also to mend: line 3, 4, 6\.$"):
        read(tmp_path / "x.csv", b"a,r,b\nc,,d\nc,r\n,r,d\na,r,b\n,r,d\n")
