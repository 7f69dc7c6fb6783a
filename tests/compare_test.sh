#!/bin/sh
# Runs examples/compare as its users do: on good input, on every kind of bad input, and into places it cannot write.
#
#   compare_test.sh COMPARE DATA     the program, and the folder of the shipped data
#
# Works in a folder of its own and removes it. Exit status: 0 when every check held.
set -u
LC_ALL=C
export LC_ALL
compare=$(realpath "$1") || exit 2
data=$(realpath "$2") || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 2' HUP INT TERM
cd "$work" || exit 2

failures=0
checks=0
fail() {
  failures=$((failures + 1))
  echo "FAILED: $*" >&2
  sed 's/^/  stderr: /' err >&2
}
check() { # description, command…
  checks=$((checks + 1))
  what=$1
  shift
  "$@" || fail "$what"
}

# Writes the header of a .npy file, version 1, of 128 bytes: npy FILE DESCR FORTRAN SHAPE. Data is appended by the caller.
npy() {
  printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '$2', 'fortran_order': $3, 'shape': $4, }" >"$1"
}
# N float16 values that look random, between 0.5 and 2 in magnitude.
halves() {
  awk -v n="$1" -v s="$2" 'BEGIN { srand(s); for (i = 0; i < n; ++i)
    printf "\\%03o\\%03o", int(rand() * 256), 56 + int(rand() * 8) + (rand() < 0.5 ? 128 : 0) }' >escapes
  printf "$(cat escapes)"
  rm escapes
}
good() { # FILE SHAPE COUNT SEED
  npy "$1" '<f2' False "$2"
  halves "$3" "$4" >>"$1"
}

# run STATUS ARGUMENT…: runs compare; the exit status must be STATUS.
run() {
  wanted=$1
  shift
  "$compare" "$@" >out 2>err </dev/null
  status=$?
  checks=$((checks + 1))
  [ "$status" -eq "$wanted" ] || fail "compare $*: exit status $status, not $wanted"
}
# refused WORD ARGUMENT…: exit status 2, one line on stderr that has WORD in it, nothing on stdout, no file made.
refused() {
  word=$1
  shift
  ls -A >before
  run 2 "$@" --no-plot --csv never.csv
  rm -f after
  ls -A | grep -vx 'after\|before\|out\|err' >after
  grep -vx 'after\|before\|out\|err' before >expected
  check "compare $*: the message lacks \"$word\"" grep -qF -e "$word" err
  check "compare $*: more than one line on stderr" [ "$(wc -l <err)" -eq 1 ]
  check "compare $*: stdout is not empty" [ ! -s out ]
  check "compare $*: files were left behind" cmp -s expected after
  rm -f before after expected
}
# refused_file WORD FILE ARGUMENT…: the same, and the message names the file.
refused_file() {
  word=$1 file=$2
  shift 2
  refused "$word" "$@"
  check "compare $*: the message does not name $file" grep -qF -e "$file" err
}

touch out err
good keys.npy '(2, 2, 16, 64)' 4096 1
good values.npy '(2, 2, 16, 64)' 4096 2
good queries.npy '(2, 4, 16, 64)' 8192 3

# Help, and the shipped data: a table with every codec, the picture's name in the last line.
run 0 --help
check 'help explains the columns' grep -q 'decibels above Shannon' out
if [ -e "$data/keys.npy" ]; then
  run 0 --no-plot
  for codec in octopus octopus-qjl turboquant-mse turboquant-prod polarquant polarquant-block lloyd-max float16 bfloat16; do
    check "the default table has $codec" grep -q "^$codec " out
  done
  check 'all nine heads are measured' grep -q '9 heads of 512 tokens, d = 64' out
  check 'nothing on stderr' [ ! -s err ]
fi

# Own files, grouped queries, a choice of heads, codecs and widths.
small="--keys keys.npy --values values.npy --queries queries.npy"
run 0 $small --codecs octopus,float16 --bits 2,3 --query-step 1 --no-plot --csv table.csv
check 'the CSV has a header and three rows' [ "$(wc -l <table.csv)" -eq 4 ]
check 'the CSV has its columns' grep -qx 'codec,bits,dim,row_bytes,bits_per_coordinate,key_distortion,key_db_over_shannon,key_cosine,value_distortion,value_db_over_shannon,value_cosine,score_error_mean,score_error_worst,kl_mean_nats,kl_worst_nats,top5_recall,output_error,encode_ns,decode_ns' table.csv
check 'every CSV row has all 19 fields, none empty' awk -F, 'NF != 19 { exit 1 } { for (i = 1; i <= NF; ++i) if ($i == "") exit 1 }' table.csv
check 'OCTOPUS at 2 bits takes 22 bytes of 64 coordinates and errs by .06 to .12' \
  awk -F, '$1 == "octopus" && $2 == 2 { found = $3 == 64 && $4 == 22 && $5 == 2.75 && $6 > .06 && $6 < .12 && $9 > .06 && $9 < .12 } END { exit !found }' table.csv
check 'float16 loses nothing of float16 data' awk -F, '$1 == "float16" { found = $6 == 0 && $16 == 1 } END { exit !found }' table.csv
check 'the partial file is gone' [ "$(ls -A | grep -c partial)" -eq 0 ]
run 0 $small --head 1:0,3 --codecs turboquant-mse --bits=4 --no-plot
check 'two heads' grep -q '2 heads of 16 tokens, d = 64' out
check 'queries are causal and grouped' grep -q '2 query heads to a key head; causal' out
run 0 --keys keys.npy --codecs turboquant-mse --bits all --no-plot --csv table.csv
check 'eight widths' [ "$(wc -l <table.csv)" -eq 9 ]
check 'no values: their fields are empty' awk -F, 'NR > 1 && ($9 != "" || $17 != "" || $14 == "") { exit 1 }' table.csv
run 0 --source gaussian --dim 64 --rows 2000 --codecs turboquant-mse --bits 2 --no-plot --csv table.csv
check 'TurboQuant errs by .1145 (2 %) at d = 64, 2 bits' awk -F, 'NR == 2 { exit !($6 > .1122 && $6 < .1168) }' table.csv
run 0 --source gaussian --dim 64 --rows 2000 --codecs turboquant-mse --bits 2 --no-plot --csv again.csv
check 'the same seed, the same numbers' [ "$(cut -d, -f1-17 table.csv)" = "$(cut -d, -f1-17 again.csv)" ]
run 0 --source gaussian --dim 64 --rows 2000 --codecs turboquant-mse --bits 2 --no-plot --csv again.csv --seed 1
check 'another seed, other numbers' [ "$(cut -d, -f1-17 table.csv)" != "$(cut -d, -f1-17 again.csv)" ]

# Schemes: keys by one codec, values by another.
run 0 $small --scheme kv,kqv,qkqv,octopus/turboquant-prod --bits 3 --no-plot --csv table.csv
check 'a line for each scheme, and float16 last' [ "$(cut -d, -f1 table.csv | tr '\n' ' ')" = 'codec kv kqv qkqv octopus/turboquant-prod float16 ' ]
check 'every CSV row has all 19 fields, none empty' awk -F, 'NF != 19 { exit 1 } { for (i = 1; i <= NF; ++i) if ($i == "") exit 1 }' table.csv
check 'a scheme has the mean bytes of its sides: 26, 27, 28, 29 of 64 coordinates, and 8/64 bits/x a byte' \
  awk -F, 'NR > 1 && NR < 6 { if ($2 != 3 || $4 != 24 + NR || $5 != $4 / 8) exit 1 }' table.csv
run 0 $small --codecs all --scheme kv,kqv --bits 3 --no-plot --csv table.csv
check 'the sides of a scheme are the codecs of these names' awk -F, '
  { keys[$1] = $6 "," $7 "," $8 "," $12 "," $14; values[$1] = $9 "," $10 "," $11 }
  END { exit !(keys["kv"] == keys["lloyd-max"] && values["kv"] == values["lloyd-max"] &&
               keys["kqv"] == keys["turboquant-mse"] && values["kqv"] == values["turboquant-prod"]) }' table.csv
check 'codecs, then schemes, then baselines' [ "$(tail -n 4 table.csv | cut -d, -f1 | tr '\n' ' ')" = 'kv kqv float16 bfloat16 ' ]
run 0 $small --scheme octopus:3/turboquant-prod:2,octopus/float16,polarquant-block/lloyd-max,kv --bits 1,2 --no-plot --csv table.csv
check 'widths apart, widths of their own, and --bits for the rest' [ "$(cut -d, -f1,2 table.csv | tr '\n' ' ')" = \
  'codec,bits octopus/turboquant-prod,3/2 octopus/float16,1/16 octopus/float16,2/16 polarquant-block/lloyd-max,4/1 polarquant-block/lloyd-max,4/2 kv,1 kv,2 float16,16 ' ]
run 0 --keys keys.npy --scheme kqv --no-plot --csv table.csv
check 'no values: their fields are empty' awk -F, 'NR > 1 && ($9 != "" || $17 != "" || $14 == "") { exit 1 }' table.csv
check 'kqv begins at 2 bits' [ "$(cut -d, -f2 table.csv | tr '\n' ' ')" = 'bits 2 3 4 16 ' ]

# Made-up keys of every kind; their values are Gaussian.
for source in gaussian student-t:3 student-t:0.5 low-rank:1 low-rank:64 concentrated one-hot outliers bias; do
  run 0 --source $source --dim 64 --rows 200 --codecs turboquant-mse,float16 --bits 3 --no-plot --csv table.csv
  check "$source: every CSV row has all 19 fields, none empty, none NaN" \
    awk -F, 'NF != 19 || /nan/ { exit 1 } { for (i = 1; i <= NF; ++i) if ($i == "") exit 1 }' table.csv
done
run 0 --source low-rank:1 --dim 64 --rows 200 --codecs turboquant-mse --bits 3 --no-plot --csv table.csv
cp table.csv again.csv
run 0 --source gaussian --dim 64 --rows 200 --codecs turboquant-mse --bits 3 --no-plot --csv table.csv
check 'another source, other keys' [ "$(cut -d, -f6 table.csv)" != "$(cut -d, -f6 again.csv)" ]
check 'and the same values' [ "$(cut -d, -f9 table.csv)" = "$(cut -d, -f9 again.csv)" ]

# Offsets and corrections.
bias='--source bias --dim 64 --rows 500 --codecs turboquant-mse,float16 --bits 3 --no-plot --csv table.csv'
run 0 $bias
check 'a bias ruins attention' awk -F, '$1 == "turboquant-mse" { found = $14 > 1 } END { exit !found }' table.csv
run 0 $bias --offset
check 'an offset saves it' awk -F, '$1 == "turboquant-mse+offset" { found = $14 < .1 && $4 == 26 } END { exit !found }' table.csv
check 'the bytes of the means are told' grep -q 'robust mean.* 256 bytes a head and side' out
run 0 $small --scheme kqv,octopus/float16 --offset --bits 2 --no-plot --csv table.csv
check 'schemes have offsets too' [ "$(cut -d, -f1 table.csv | tr '\n' ' ')" = 'codec kqv+offset octopus/float16+offset float16+offset ' ]
gaussian='--source gaussian --dim 64 --rows 2000 --codecs turboquant-mse,polarquant-block,float16 --bits 2,4 --no-plot'
run 0 $gaussian --csv none.csv
run 0 $gaussian --csv same.csv --correction none
check 'no correction by name is none' [ "$(cut -d, -f1-17 none.csv)" = "$(cut -d, -f1-17 same.csv)" ]
for correction in norm inner-product least-squares; do
  run 0 $gaussian --csv $correction.csv --correction $correction
  check "$correction: the name says so, and only of what stores a length" [ "$(cut -d, -f1 $correction.csv | tr '\n' ' ')" = \
    "codec turboquant-mse+$correction turboquant-mse+$correction polarquant-block float16 " ]
  check "$correction: the direction stays" awk -F, 'FNR == 1 { next } NR == FNR { cosine[FNR] = $8; next }
    { off = $8 - cosine[FNR]; if (off > 1e-6 || off < -1e-6) exit 1 }' none.csv $correction.csv
done
# With D = 1 - cosine^2 the least error, the others are 2 (1 - cosine) and 1 / cosine^2 - 1.
check 'corrections have the errors that follow from the cosine (1 %)' awk -F, '
  function near(a, b) { return a > .99 * b && a < 1.01 * b }
  FNR == 2 { d[FILENAME] = $6; c = $8 }
  END { exit !(near(d["least-squares.csv"], 1 - c * c) && near(d["norm.csv"], 2 * (1 - c)) &&
               near(d["inner-product.csv"], 1 / (c * c) - 1)) }' norm.csv inner-product.csv least-squares.csv
npy zeros.npy '<f4' False '(8, 64)'
head -c 2048 /dev/zero >>zeros.npy
run 0 --keys zeros.npy --no-plot
check 'rows of zeros measure as no error' grep -q '^octopus  *2  *22 ' out
run 0 --keys zeros.npy --values zeros.npy --offset --correction inner-product --no-plot --csv table.csv
check 'with offsets and corrections too' awk -F, 'NR > 1 && ($6 != 0 || $9 != 0 || $17 != 0) { exit 1 }' table.csv

# Bad files, each as keys; then what does not fit the keys.
: >empty.npy
head -c 4200 keys.npy >short.npy
{ cat keys.npy; printf x; } >long.npy
head -c 60 keys.npy >header.npy
echo 'hello, I am a text' >text.npy
npy fortran.npy '<f2' True '(2, 64)'; halves 128 4 >>fortran.npy
npy double.npy '<f8' False '(2, 64)'; head -c 1024 /dev/zero >>double.npy
npy int.npy '<i4' False '(2, 64)'; head -c 512 /dev/zero >>int.npy
npy big.npy '>f2' False '(2, 64)'; halves 128 4 >>big.npy
npy none.npy '<f2' False '(0, 64)'
npy flat.npy '<f2' False '(64,)'; halves 64 4 >>flat.npy
npy huge.npy '<f2' False '(4611686018427387905, 2, 64)'; halves 128 4 >>huge.npy
npy dict.npy '<f2' False '(2, 64'; halves 128 4 >>dict.npy
npy nan.npy '<f2' False '(2, 64)'; halves 70 4 >>nan.npy; printf '\000\176' >>nan.npy; halves 57 5 >>nan.npy
npy inf.npy '<f4' False '(1, 64)'; head -c 12 /dev/zero >>inf.npy; printf '\000\000\200\377' >>inf.npy; head -c 240 /dev/zero >>inf.npy
good odd.npy '(2, 50)' 100 4
good heads.npy '(2, 1, 16, 64)' 2048 4
good tokens.npy '(2, 2, 8, 64)' 2048 4
good wide.npy '(2, 2, 8, 128)' 4096 4
good three.npy '(2, 3, 16, 64)' 6144 4

refused_file 'does not exist' missing.npy --keys missing.npy
refused_file 'not a regular file' . --keys .
refused_file 'is empty (0 bytes)' empty.npy --keys empty.npy
refused_file 'is truncated' short.npy --keys short.npy
refused_file 'extra bytes' long.npy --keys long.npy
refused_file 'is truncated' header.npy --keys header.npy
refused_file 'not a .npy file' text.npy --keys text.npy
refused_file 'Fortran order' fortran.npy --keys fortran.npy
refused_file "'<f8'" double.npy --keys double.npy
refused_file "'<i4'" int.npy --keys int.npy
refused_file 'big-endian' big.npy --keys big.npy
refused_file 'is empty: its shape is [0, 64]' none.npy --keys none.npy
refused_file 'two axes' flat.npy --keys flat.npy
refused_file 'is truncated' huge.npy --keys huge.npy
refused_file 'header' dict.npy --keys dict.npy
refused_file 'element [1, 6] (number 70, counted from 0) is NaN' nan.npy --keys nan.npy
refused_file 'element [0, 3] (number 3, counted from 0) is -inf' inf.npy --keys inf.npy
refused_file 'no dimension 50' odd.npy --keys odd.npy
good unbuilt.npy '(2, 4)' 8 4
refused_file 'KVCODEC_COMPARE_DIMS=4' unbuilt.npy --keys unbuilt.npy
refused_file 'NaN' nan.npy --keys keys.npy --values nan.npy
refused_file 'is truncated' short.npy --keys keys.npy --queries short.npy
refused_file 'd, the last axis, differs' wide.npy --keys keys.npy --values wide.npy
refused_file 'number of tokens differs' tokens.npy --keys keys.npy --values tokens.npy
refused_file 'leading axes differ' heads.npy --keys keys.npy --values heads.npy
refused_file 'd, the last axis, differs' wide.npy --keys keys.npy --queries wide.npy
refused_file 'not a multiple' three.npy --keys keys.npy --queries three.npy
refused_file 'number of layers differs' zeros.npy --keys keys.npy --queries zeros.npy

# Bad options.
refused --frobnicate --frobnicate
refused surplus surplus
refused '"rotor"' --codecs octopus,rotor
refused 'width of 9' --bits 9
refused 'width of 7' --codecs octopus --bits 2,7
refused '"turboquant"' --scheme turboquant
refused 'kv (1-8), kqv (2-8), qkqv (2-8) and pairs' --scheme kv,,kqv
refused 'unknown scheme "kv:3"' --scheme kv:3
refused 'unknown scheme "octopus/octopus/octopus"' --scheme octopus/octopus/octopus
refused 'unknown codec "rotor"' --scheme rotor/octopus
refused 'unknown codec "kv"' --scheme octopus/kv
refused 'unknown codec ""' --scheme octopus/
refused 'octopus has no width of "7"; there are octopus (1-6)' --scheme octopus:7/lloyd-max:7
refused 'lloyd-max has no width of "two"' --scheme octopus/lloyd-max:two
refused 'lloyd-max has no width of ""' --scheme octopus:2/lloyd-max:
refused 'chosen schemes has a width of 1;' --scheme kqv --bits 1
refused 'chosen schemes has a width of 16;' --scheme kqv --bits 16
refused 'chosen schemes has a width of 7;' --scheme octopus/lloyd-max --bits 7
refused 'chosen codecs and schemes has a width of 7;' --codecs octopus --scheme octopus/lloyd-max --bits 7
refused 'chosen codecs has a width of 3;' --codecs polarquant-block --bits 3
refused '"sideways"' --correction sideways
refused '--offset=yes' --offset=yes
refused 'two' --bits two
refused '2,,3' --bits 2,,3
refused 'no dimension 100' --source gaussian --dim 100
refused 'gaussian' --source laplace
refused '"student-t"' --source student-t
refused '"student-t:0.4"' --source student-t:0.4
refused '"student-t:inf"' --source student-t:inf
refused '"student-t:nan"' --source student-t:nan
refused '"low-rank:0"' --source low-rank:0
refused '"low-rank:1.5"' --source low-rank:1.5
refused 'low-rank:65: a rank is at most the head size, --dim 64' --source low-rank:65 --dim 64
refused '"gaussian:1"' --source gaussian:1
refused '"one-hot:"' --source one-hot:
refused '--dim' --dim 64
refused '"0"' --source gaussian --rows 0
refused '-1' --seed -1
refused 'no head 4' --keys keys.npy --head 4
refused 'no head 2:0' --keys keys.npy --head 2:0
refused 'a:b' --keys keys.npy --head a:b
refused '--keys' --values values.npy
refused '--source' --source gaussian --keys keys.npy
run 2 --keys
check 'a missing value is named' grep -q -e '--keys takes a file' err

# Places that cannot be written are refused before anything is measured.
mkdir folder
run 2 $small --no-plot --csv folder
check 'the folder is named' grep -q folder err
run 2 $small --no-plot --csv nowhere/table.csv
check 'the file is named' grep -q nowhere/table.csv err
check 'nothing was measured' [ ! -s out ]
run 2 $small --plot picture.gif
check 'the ending is named' grep -q picture.gif err

# A full disk: the CSV that was there stays.
if [ -w /dev/full ]; then
  "$compare" $small --bits 2 --no-plot >/dev/full 2>err
  check 'a full disk is an error' [ $? -eq 2 ]
fi
echo precious >kept.csv
run 2 --keys nan.npy --no-plot --csv kept.csv
check 'an old file survives an error' grep -qx precious kept.csv

# The picture.
if command -v gnuplot >/dev/null 2>&1; then
  run 0 $small --plot "pic'ture \$x.svg"
  check 'the SVG is whole' grep -q '</svg>' "pic'ture \$x.svg"
  check 'the SVG has the Shannon line' grep -q 'Shannon' "pic'ture \$x.svg"
  check 'the SVG names the codecs' grep -q 'turboquant-mse' "pic'ture \$x.svg"
  check 'the SVG names the data' grep -q 'keys.npy' "pic'ture \$x.svg"
  check 'gnuplot had nothing to complain about' [ ! -s err ]
  check 'the last line names the picture' [ "$(tail -n 1 out)" = "picture: pic'ture \$x.svg" ]
  run 0 $small --scheme kv,octopus:3/turboquant-prod:2,float16/octopus --plot schemes.svg
  check 'the SVG names the schemes' grep -q 'octopus/turboquant-prod' schemes.svg
  check 'gnuplot had nothing to complain about' [ ! -s err ]
  run 0 $small --codecs all --scheme kv,kqv --offset --plot many.svg
  check 'more lines than looks' grep -q 'kqv+offset' many.svg
  check 'gnuplot had nothing to complain about' [ ! -s err ]
  run 0 $small --plot picture.png
  check 'the PNG is one' [ "$(head -c 4 picture.png | tail -c 3)" = PNG ]
  run 0 $small --codecs float16
  check 'the default picture' [ -s compare.svg ]
  check 'the last line names it' [ "$(tail -n 1 out)" = 'picture: compare.svg' ]
fi
# A machine without gnuplot: an error only for those who asked for a picture.
mkdir bin
for tool in sh; do ln -s "$(command -v $tool)" bin/; done
rm -f compare.svg
PATH=$work/bin "$compare" $small --codecs octopus >out 2>err
check 'no gnuplot, no picture asked for: fine' [ $? -eq 0 ]
check 'it is said how to get one' grep -q 'apt-get install gnuplot' err
check 'the table is there' grep -q '^octopus ' out
PATH=$work/bin "$compare" $small --codecs octopus --plot asked.svg >out 2>err
check 'no gnuplot, a picture asked for: an error' [ $? -eq 2 ]
check 'it is said how to get one' grep -q 'apt-get install gnuplot' err
check 'nothing half-written' [ ! -e asked.svg ]
printf '#!/bin/sh\necho half a picture\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
PATH=$work/bin "$compare" $small --codecs octopus --plot asked.svg >out 2>err
check 'gnuplot fails: an error' [ $? -eq 2 ]
check 'the picture is named' grep -q 'asked.svg' err
check 'nothing half-written' [ ! -e asked.svg ]
check 'no partial file is left' [ "$(ls -A | grep -c partial)" -eq 0 ]

echo "compare_test: $checks checks, $failures failed"
[ "$failures" -eq 0 ]
