# Sourced: sysfs_tree FILE DIR makes the directory of PMUs that FILE (of tests/data/sysfs) describes.
sysfs_tree()
{
	grep -v '^#' "$1" | while read -r path content; do
		mkdir -p "$2/${path%/*}"
		echo "$content" >"$2/$path"
	done
}
