# What kind of machine this is.
echo "os $(uname -s)"
echo "arch $(uname -m)"
echo "host $(uname -n)"
echo "shell $SHELL"
