// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * A kernel module for the machine of tests/vm, which has no GPU: a driver for qemu's bochs-display that is called as the
 * vendor's is, and says and shows what that one would. Its parameters are files in /sys/module/gpu_stand_in/parameters:
 *
 *   driver   at insmod: what it is called, "nvidia" or "amdgpu"
 *   say      writes this line into the kernel's log, as one of the kernel's own
 *   fill     writes so many long lines, so that the log drops what it has
 *   dead     the PCI address of the device that answers with ones from now on; "" for none
 *   wedged   "ADDRESS METHOD": the uevent of drm_dev_wedged_event(), which Linux has since 6.15
 *   wakes    how often a device has been woken
 */
#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>

static char *driver = "nvidia";
module_param(driver, charp, 0444);

static unsigned int wakes;
module_param(wakes, uint, 0444);

/* --- the kernel's log --- */

static int say(const char *text, const struct kernel_param *param)
{
    printk(KERN_ERR "%s", text);
    return 0;
}
static const struct kernel_param_ops say_ops = {.set = say};
module_param_cb(say, &say_ops, NULL, 0200);

static int fill(const char *text, const struct kernel_param *param)
{
    unsigned int count, i;
    int error = kstrtouint(text, 10, &count);

    for (i = 0; !error && i < count; ++i)
        printk(KERN_DEBUG "%0100u\n", i);
    return error;
}
static const struct kernel_param_ops fill_ops = {.set = fill};
module_param_cb(fill, &fill_ops, NULL, 0200);

/* --- a device that has fallen off its bus --- */

static struct pci_bus *bus;
static struct pci_ops *bus_ops;
static struct pci_ops own_ops;
static int dead_function = -1;

static int read_or_ones(struct pci_bus *from, unsigned int function, int where, int size, u32 *value)
{
    if (from == bus && (int)function == READ_ONCE(dead_function)) {
        *value = ~0U;
        return PCIBIOS_SUCCESSFUL;
    }
    return bus_ops->read(from, function, where, size, value);
}

static int set_dead(const char *text, const struct kernel_param *param)
{
    unsigned int domain, number, slot, function;

    if (sscanf(text, "%x:%x:%x.%x", &domain, &number, &slot, &function) == 4)
        WRITE_ONCE(dead_function, PCI_DEVFN(slot, function));
    else
        WRITE_ONCE(dead_function, -1);
    return 0;
}
static const struct kernel_param_ops dead_ops = {.set = set_dead};
module_param_cb(dead, &dead_ops, NULL, 0200);

static void take_bus(struct pci_bus *its_bus)
{
    if (bus)
        return;
    bus = its_bus;
    bus_ops = its_bus->ops;
    own_ops = *bus_ops;
    own_ops.read = read_or_ones;
    pci_bus_set_ops(bus, &own_ops);
}

/* --- what the drivers of GPUs show --- */

static struct proc_dir_entry *top_directory, *gpus_directory;

static int show_information(struct seq_file *file, void *data)
{
    struct pci_dev *device = file->private;

    seq_printf(file,
               "Model: \t\t Stand-in\nIRQ:   \t\t 91\nGPU UUID: \t GPU-5a1c0de0-1111-4222-8333-0123456789%02x\n"
               "Bus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %u\nGPU Excluded:\t No\n",
               PCI_SLOT(device->devfn), pci_name(device), PCI_SLOT(device->devfn));
    return 0;
}

static void show_in_proc(struct pci_dev *device)
{
    struct proc_dir_entry *directory = proc_mkdir(pci_name(device), gpus_directory);

    proc_create_single_data("information", 0444, directory, show_information, device);
}

DEFINE_DRM_GEM_FOPS(drm_files);
static const struct drm_driver drm_kind = {
    .driver_features = DRIVER_GEM,
    .fops = &drm_files,
    .name = "gpu_stand_in",
    .desc = "stands in for a GPU's",
    .date = "20261126",
    .major = 1,
};

static int probe(struct pci_dev *device, const struct pci_device_id *id)
{
    struct drm_device *drm = drm_dev_alloc(&drm_kind, &device->dev);
    int error;

    if (IS_ERR(drm))
        return PTR_ERR(drm);
    error = drm_dev_register(drm, 0);
    if (error) {
        drm_dev_put(drm);
        return error;
    }
    pci_set_drvdata(device, drm);
    take_bus(device->bus);
    show_in_proc(device);
    /* Who writes "auto" to power/control lets it sleep. */
    pm_runtime_put_noidle(&device->dev);
    return 0;
}

static void leave(struct pci_dev *device)
{
    struct drm_device *drm = pci_get_drvdata(device);

    pm_runtime_get_noresume(&device->dev);
    remove_proc_subtree(pci_name(device), gpus_directory);
    drm_dev_unplug(drm);
    drm_dev_put(drm);
}

static int set_wedged(const char *text, const struct kernel_param *param)
{
    char name[32], method[64], variable[80];
    char *variables[] = {variable, NULL};
    struct device *device;
    int error = -ENODEV;

    if (sscanf(text, "%31s %63s", name, method) != 2)
        return -EINVAL;
    snprintf(variable, sizeof(variable), "WEDGED=%s", method);
    device = bus_find_device_by_name(&pci_bus_type, NULL, name);
    if (device && device->driver && device->driver->owner == THIS_MODULE) {
        struct drm_device *drm = dev_get_drvdata(device);

        error = kobject_uevent_env(&drm->primary->kdev->kobj, KOBJ_CHANGE, variables);
    }
    put_device(device);
    return error;
}
static const struct kernel_param_ops wedged_ops = {.set = set_wedged};
module_param_cb(wedged, &wedged_ops, NULL, 0200);

/* --- sleep --- */

/* Qemu's machine cannot take the power away: D3cold is what the kernel is told, which wakes the device to read from it. */
static int fall_asleep(struct device *device)
{
    struct pci_dev *pci = to_pci_dev(device);

    pci_save_state(pci);
    pci->current_state = PCI_D3cold;
    return 0;
}

static int wake(struct device *device)
{
    ++wakes;
    return 0;
}

static const struct dev_pm_ops sleep_ops = {SET_RUNTIME_PM_OPS(fall_asleep, wake, NULL)};

static const struct pci_device_id devices[] = {{PCI_DEVICE(0x1234, 0x1111)}, {}};

static struct pci_driver stand_in = {
    .id_table = devices,
    .probe = probe,
    .remove = leave,
    .driver.pm = &sleep_ops,
};

static int __init start(void)
{
    char path[64];
    int error;

    snprintf(path, sizeof(path), "driver/%s", driver);
    top_directory = proc_mkdir(path, NULL);
    gpus_directory = proc_mkdir("gpus", top_directory);
    stand_in.name = driver;
    error = pci_register_driver(&stand_in);
    if (error)
        proc_remove(top_directory);
    return error;
}

static void __exit end(void)
{
    pci_unregister_driver(&stand_in);
    if (bus)
        pci_bus_set_ops(bus, bus_ops);
    proc_remove(top_directory);
}

module_init(start);
module_exit(end);
MODULE_DESCRIPTION("Stands in for the driver of a GPU in tests");
MODULE_LICENSE("GPL");
