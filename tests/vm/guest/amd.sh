# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh: a host with two GPUs of AMD's. Their topology is made up; the nodes are those of drivers
# that do without the hardware: amdgpu's /dev/kfd, and render nodes of virtio-gpu and vgem.
#
# shellcheck disable=SC2016,SC2154 # the dollars in single quotes are jq's; the variables are those of lib.sh

amd_hook_file=/usr/share/containers/oci/hooks.d/21-amd-kfd.json
amd_key=io.oci-gpu-hooks.amd-kfd

modprobe --all virtio_pci amdgpu virtio-gpu vgem

# render_node DRIVER : the name of its render node.
render_node() {
    local node
    for node in /sys/class/drm/renderD*; do
        [[ $(realpath "$node/device") != *"$1"* ]] || basename "$node"
    done
}
first=$(render_node /pci)
second=$(render_node /vgem)

amd=$shared/amd
if [ ! -e "$amd" ]; then
    kfd=$amd/sys/devices/virtual/kfd/kfd
    mkdir -p "$amd/proc" "$kfd" "$amd/sys/class/drm" "$amd/sys/class/kfd"
    cp /proc/devices "$amd/proc/devices"
    cp /sys/class/kfd/kfd/dev "$kfd/dev"
    ln -s ../../devices/virtual/kfd/kfd "$amd/sys/class/kfd/kfd"
    number=0
    for gpu in "0000:0d:00.0=3328=$first" "0000:10:00.0=4096=$second"; do
        IFS='=' read -r address location node <<<"$gpu"
        mkdir -p "$kfd/topology/nodes/$number" "$amd/sys/devices/pci0000:00/$address/drm/$node"
        printf '%s\n' 'simd_count 192' 'gfx_target_version 110000' "location_id $location" \
            "drm_render_minor ${node#renderD}" >"$kfd/topology/nodes/$number/properties"
        cp "/sys/class/drm/$node/dev" "$amd/sys/devices/pci0000:00/$address/drm/$node/dev"
        ln -s "../../../$address" "$amd/sys/devices/pci0000:00/$address/drm/$node/device"
        ln -s "../../devices/pci0000:00/$address/drm/$node" "$amd/sys/class/drm"
        number=$((number + 1))
    done
    look_at "$amd" "$amd_hook_file"
fi

# ask_for_amd_gpu VALUE : and for the host's programs. /other is the first GPU's node, made by hand.
ask_for_amd_gpu() {
    ask_for_gpu "$1" "$amd_key" "$amd_hook_file"
    mkdir "$bundle/rootfs/usr"
    ln -s usr/lib usr/lib64 "$bundle/rootfs"
    edit '.mounts += [{destination: "/usr", type: "bind", source: "/usr", options: ["bind", "ro"]}]'
    mknod -m 666 "$bundle/rootfs/other" c 226 "${first#renderD}"
}
