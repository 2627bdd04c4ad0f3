# Who is there.
scan
echo members $L
